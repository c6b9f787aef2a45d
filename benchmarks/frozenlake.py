"""Speed of FrozenLakeText beside Gymnasium's own FrozenLake, in the same run.

Run `python benchmarks/frozenlake.py [--episodes 20000] [--moves 2]`. Both play the same moves on
the same maps from the same seeds, resets included, and have to end alike. Gymnasium's environments
are made beforehand, one a map; ours goes from map to map by `reset`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from agentenvs.frozenlake import FrozenLakeTextEnv, task_ids
from agentenvs.frozenlake.lakes import MOVES, rows_of
from agentenvs.frozenlake.tasks import seed_of

TURNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--moves", type=int, default=2)
    options = parser.parse_args()
    tasks = task_ids("train")
    rng = np.random.default_rng(0)
    ways = rng.choice([0, 1, 1, 1, 2, 2, 2, 3], (options.episodes, TURNS, options.moves)).tolist()
    said = [[" ".join(MOVES[move] for move in turn) for turn in episode] for episode in ways]

    lakes = [FrozenLakeEnv(desc=list(rows_of(seed_of(task))), success_rate=0.8) for task in tasks]
    won = made = 0
    began = time.process_time()
    for number, episode in enumerate(ways):
        lake = lakes[number % len(lakes)]
        lake.reset(seed=number)
        for move in (move for turn in episode for move in turn):
            _, reward, over, _, _ = lake.step(move)
            made += 1
            if over:
                won += int(reward)
                break
    theirs = time.process_time() - began

    env = FrozenLakeTextEnv(moves_per_step=options.moves, max_steps=TURNS)
    turns = reached = 0
    for task in tasks:
        env.reset(options={"task": task})
    began = time.process_time()
    for number, lines in enumerate(said):
        env.reset(seed=number, options={"task": tasks[number % len(tasks)]})
        for line in lines:
            _, reward, over, _, _ = env.step(line)
            turns += 1
            if over:
                reached += int(reward)
                break
    ours = time.process_time() - began

    assert reached == won, (reached, won)
    print(f"{options.episodes} episodes, {won} reach the goal, {made} moves in {turns} turns")
    print(f"Gymnasium: {made / theirs:.0f} moves a second")
    print(
        f"ours: {made / ours:.0f} moves a second in {turns / ours:.0f} turns, "
        f"{theirs / ours:.2f} times as fast"
    )


if __name__ == "__main__":
    main()
