from __future__ import annotations

import random

import gymnasium
import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness import Completion, Episode, Sampling
from agentenvs.toollab import VOCABULARY, task_ids
from agentenvs.toollab import vocabulary as v
from agentenvs.toollab.design import CHANNELS, CODES, TAGS, TASKS

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]

MAX_TURN = 6
WORDS = [token for token in range(len(VOCABULARY)) if token != v.END]


class Parrot:
    """Stands for a model: after what was fed it says what a script has for the row's task."""

    def __init__(self, torch, script):
        self.torch, self.script = torch, script

    def start(self, rows, length):
        return Fed(self.torch.zeros(rows, 0, dtype=self.torch.int64))

    def step(self, ids, cache):
        cache.ids = self.torch.cat([cache.ids, ids[:, None]], 1)
        at = min(cache.ids.shape[1], self.script.shape[1] - 1)
        if at < 4:
            return self.torch.zeros(len(ids), len(VOCABULARY))
        errand, item, count = (cache.ids[:, 1:4] - v_offsets(self.torch)).unbind(1)
        wanted = self.script[(errand * 40 + item) * 10 + count, at]
        return 1e4 * self.torch.nn.functional.one_hot(wanted, len(VOCABULARY)).float()


class Fed:
    def __init__(self, ids):
        self.ids = ids

    def take(self, rows):
        return Fed(self.ids[rows])


def v_offsets(torch):
    return torch.tensor([v.ERRAND, v.ITEM, v.COUNT])


def the_right(design, task, tag):
    errand, item, count = design.task(task)
    channel, label, code = (int(x) for x in design.truth[errand, item])
    amount = int(design.counted[label, count])
    call = [v.CHANNEL + channel, v.TAG + tag, v.LABEL + label, v.COUNT + amount]
    return [v.FIND, v.ITEM + item], call, [v.CODE + code]


def a_turn(draw, right, found, accepted):
    """Return a turn's words, sensible every other time."""
    find, call, code = right
    if draw.random() < 0.55:
        return find if not found else code if accepted else call
    kind = draw.randrange(9)
    if kind == 0:
        return [v.FIND, draw.choice(WORDS)]
    if kind == 1:
        return [draw.choice(WORDS) for _ in range(draw.randrange(MAX_TURN + 1))]
    if kind == 2:
        return []
    if kind == 3:
        return [v.CODE + draw.randrange(len(CODES))]
    if kind == 4:
        return [*code, draw.choice(WORDS)]
    if kind == 5:
        return [draw.choice([v.FIND, *call[:1]]), *(draw.choice(WORDS) for _ in range(5))]
    wrong = list(draw.choice([call, call, find]))
    if kind == 6:
        wrong[draw.randrange(len(wrong))] = draw.choice(WORDS)
    elif kind == 7:
        wrong.insert(draw.randrange(len(wrong) + 1), draw.choice(WORDS))
    else:
        del wrong[draw.randrange(len(wrong))]
    return wrong


def converse(env, tokenizer, draw, right, task_id, seed):
    """Play one episode in words; return it, its ids and which of them were the agent's."""
    sampling = Sampling(max_tokens=MAX_TURN)
    episode = Episode(env, "none", form="chat", sampling=sampling, task=task_id, seed=seed)
    ids, mask = [], []
    found = accepted = False
    while episode.request is not None:
        prompt = tokenizer.apply_chat_template(
            list(episode.request.messages), add_generation_prompt=True, return_dict=True
        )["input_ids"]
        assert prompt[: len(ids)] == ids
        mask += [False] * (len(prompt) - len(ids))
        words = a_turn(draw, right, found, accepted)
        ids = [*prompt, *words, v.END]
        mask += [True] * len(words) + [len(words) < MAX_TURN]
        finish = "stop" if len(words) < MAX_TURN else "length"
        episode.respond(Completion(tokenizer.decode(words), finish_reason=finish))
        said = episode.steps[-1].news
        found |= bool(said) and said[-1]["content"] in TAGS
        accepted |= bool(said) and said[-1]["content"] == "ok"
    return episode, ids, mask


def seeds_by_tag(env, task_id):
    """Return an episode's seed for each tag that may be drawn."""
    seeds = {}
    for seed in range(1000):
        env.reset(seed=seed, options={"task": task_id})
        word = env.step(f"find {task_id.split('/')[2]}")[0]
        seeds.setdefault(TAGS.index(word), seed)
        if len(seeds) == len(TAGS):
            return seeds
    raise AssertionError("not every tag was drawn")


@pytest.fixture(scope="module")
def env():
    env = gymnasium.make("agentenvs/ToolLab-v0", tasks="all")
    yield env
    env.close()


@pytest.mark.parametrize("seed", range(2))
def test_tensors_and_texts_agree_token_by_token(torch, world, design, tokenizer, env, seed):
    from agentenvs.harness.lab.rollouts import sample

    names = task_ids("all")
    seeds = seeds_by_tag(env, names[0])
    tasks, heat = torch.arange(TASKS), torch.ones(TASKS)
    width = 60
    asking = torch.full((TASKS, width), v.END)
    asking[:, 5] = v.FIND
    asking[:, 6] = v.ITEM + tasks // 10 % 40
    generator = torch.Generator().manual_seed(seed)
    asked = sample(Parrot(torch, asking), world, tasks, heat, generator)
    tags = (asked.ids[:, 9] - v.TAG).tolist()

    draw = random.Random(f"texts and tensors {seed}")
    script = torch.zeros(TASKS, width, dtype=torch.int64)
    mask = torch.zeros(TASKS, width, dtype=torch.bool)
    episodes = []
    for task in range(TASKS):
        right = the_right(design, task, tags[task])
        episode, ids, own = converse(env, tokenizer, draw, right, names[task], seeds[tags[task]])
        episodes.append(episode)
        script[task, : len(ids)] = torch.tensor(ids)
        mask[task, : len(ids)] = torch.tensor(own)

    generator = torch.Generator().manual_seed(seed)
    played = sample(Parrot(torch, script), world, tasks, heat, generator)
    length = played.ids.shape[1]
    assert not script[:, length:].any()
    assert torch.equal(played.ids, script[:, :length])
    assert torch.equal(played.agent, mask[:, :length])
    assert played.success.tolist() == [episode.success for episode in episodes]
    assert played.turns.tolist() == [len(episode.steps) for episode in episodes]
    assert played.success.sum() > 100
    assert len({episode.reason for episode in episodes}) == 6


def test_an_errand_carried_out_and_closed_is_a_success(torch, world, design):
    task = int(design.train[0])
    find, call, code = the_right(design, task, 4)
    desks = world.begin(torch.tensor([task]), torch.tensor([4]))
    replies = []
    for turn in (find, call, code):
        words = torch.tensor([[*turn, 0, 0, 0, 0][:6]])
        size = torch.tensor([len(turn)])
        replies.append(int(world.answer(desks, torch.tensor([0]), words, size)))
    assert replies == [v.TAG + 4, v.OK, v.PAD]
    assert (desks.done.item(), desks.success.item(), desks.turns.item()) == (True, True, 3)


def test_only_the_desks_named_are_touched(torch, world):
    desks = world.begin(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]))
    words = torch.full((1, 6), v.CHANNEL)
    world.answer(desks, torch.tensor([1]), words, torch.tensor([1]))
    assert desks.errors.tolist() == [0, 1, 0]
    assert desks.turns.tolist() == [0, 1, 0]


def test_another_world_has_other_conventions(torch):
    from agentenvs.harness.lab.world import TensorWorld
    from agentenvs.toollab import Design

    tasks, tags = torch.arange(TASKS), torch.zeros(TASKS, dtype=torch.int64)
    desks = [TensorWorld(Design.of(n)).begin(tasks, tags) for n in (0, 1)]
    same = (desks[0].channel == desks[1].channel).float().mean()
    assert 0.0 < same < 0.7
    assert torch.equal(desks[0].item, desks[1].item)
    assert int(desks[0].channel.max()) == v.CHANNEL + len(CHANNELS) - 1


@pytest.mark.parametrize("tasks", [[-1], [TASKS], [[0, 1]]])
def test_unknown_tasks_are_refused(torch, world, tasks):
    with pytest.raises(BadArgument, match=r"task ind|`tasks`"):
        world.begin(torch.tensor(tasks), torch.zeros(1, dtype=torch.int64))


def test_unknown_tags_are_refused(torch, world):
    with pytest.raises(BadArgument, match="tags from 0 to 9"):
        world.begin(torch.tensor([0]), torch.tensor([10]))


@pytest.mark.parametrize("steps", [0, True, 2.0])
def test_a_world_needs_at_least_one_step(torch, design, steps):
    from agentenvs.harness.lab.world import TensorWorld

    with pytest.raises(BadArgument, match="max_steps"):
        TensorWorld(design, max_steps=steps)


def test_the_design_stays_as_it_was(torch, world, design):
    before = np.array(design.truth)
    desks = world.begin(torch.arange(3), torch.arange(3))
    desks.code += 1
    assert (design.truth == before).all()
    assert not torch.equal(world.begin(torch.arange(3), torch.arange(3)).code, desks.code)
