"""The environment: an instruction, a shop to walk through, and the worth of the purchase."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal

from agentenvs.core import Message, Rules, Snapshot, TextEnv, Tool, Transition
from agentenvs.errors import BadArgument
from agentenvs.webshop import urls
from agentenvs.webshop.actions import TOOLS, Call, read
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.locate import open_catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.records import Goal, GoalKind
from agentenvs.webshop.reward import Score
from agentenvs.webshop.sets import parse_task
from agentenvs.webshop.tasks import all_ids, task_ids
from agentenvs.webshop.text import RichText, Text
from agentenvs.webshop.views import State

__all__ = ["MAX_STEPS", "OBSERVATIONS", "Observation", "Role", "WebShopEnv"]

Observation = Literal["text", "text_rich", "url", "html"]
#: who a page is shown to the model as
Role = Literal["user", "tool"]
OBSERVATIONS: tuple[Observation, ...] = ("text", "text_rich", "url", "html")
#: the limit of the authors' own wrapper; the original environment has none
MAX_STEPS = 100
_SESSION = re.compile(r"[A-Za-z0-9._~-]{1,100}")
_POLICY = """\
You shop for the user in an online store. The page shows the user's instruction: buy one \
product that fits it in kind, in features, in every option that it names, and in price. Search \
for products, click a product's id to open it, click the option values that are wanted, then \
click "buy now". Buying ends the shopping and cannot be undone."""
_SYSTEM = (
    _POLICY
    + """

Answer each page with one action, on one line, and nothing else:
search[words] searches for words, where the page has a search bar.
click[label] clicks a button, a product's id or an option value of the page, by its label.
For example: search[blue cotton socks], click[next >], click[buy now]."""
)

#: read for each reset, which costs less than a deep copy
_SCHEMAS = json.dumps([tool.schema() for tool in TOOLS])


@dataclass(slots=True)
class _Episode:
    """Everything of an episode that changes."""

    goal: Goal
    state: State
    digest: str
    steps: int = 0

    def copy(self) -> _Episode:
        return replace(self, state=self.state.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> _Episode:
        return self.copy()


class WebShopEnv(TextEnv):
    """WebShop: search an online shop for what an instruction asks for, and buy it.

    Task: find the product that fits the instruction, choose its options, buy it. One shows
    up as synthetic or as human goal of a catalog.

    Actions: `search[words]` and `click[label]`, or canonical JSON with calls of `search(query)`
    and `click(element)`, carried out in order until one is invalid or the shopping is over;
    each counts as a step. What is no valid action leaves the page as it is;
    `info["invalid_action"]` says why.

    Observations: the page as "text" (texts joined by " [SEP] "), "text_rich" (a line each,
    with buttons marked), "url" or "html". `info["available"]` has `has_search_bar` and
    `clickables`, `info["page"]` the kind of page; at reset `info["catalog"]` and
    `info["data_version"]` say what is sold. At the end `info["score_parts"]` breaks the score
    down under its official names. The goal is the solution and never in `info`.

    Reward: 0.0 until the purchase, then 1.0 where its score is exactly 1.0, else 0.0; with
    `reward="score"` the score itself.

    Ends: with the purchase; truncated after `max_steps` steps.

    Ids: `agentenvs/WebShop-v0`. Source: WebShop, Yao et al. 2022, MIT,
    princeton-nlp/WebShop.

    Args:
        tasks: a name from `agentenvs.task_sets`, or task ids; default `mini`, or the synthetic
            goals of `catalog` (its human ones where it has no other).
        task: play this task at every reset that names none.
        rules: "official", or "fixed": what `agentenvs.webshop.layout`, `pages`, `text`,
            `actions` and `reward` mend.
        reward: "success" or "score".
        catalog: a compiled catalog, a folder with official files, or "mini", "1k" or "full";
            default the one that the tasks are from.
        observation: "text", "text_rich", "url" or "html".
        show_attrs: whether products offer a page with their attributes.
        prices: asin -> price in dollars, for products whose price is a range, in place of the
            catalog's seeded draw; price caps move along. Other asins mean nothing.
        draw: how a bare reset draws: "uniform", or "weighted" as the original does, over all
            goals of one kind; under "official" off by one as there.
        max_steps: the step limit, or None.
        render_mode: None or "ansi".
        exclude: task ids that a bare `reset` never draws.

    Raises:
        BadArgument: an argument out of range, or a catalog too small for the tasks.
        UnknownName: an unknown task or task set.
        SourceError: the catalog cannot be had.
    """

    known_options: ClassVar[tuple[str, ...]] = ("task", "goal", "session")

    def __init__(
        self,
        tasks: str | Sequence[str] | None = None,
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        catalog: str | PathLike[str] | Catalog | None = None,
        observation: Observation = "text",
        show_attrs: bool = False,
        prices: Mapping[str, float] | None = None,
        draw: Literal["uniform", "weighted"] = "uniform",
        max_steps: int | None = MAX_STEPS,
        render_mode: str | None = None,
        exclude: Collection[str] = (),
    ) -> None:
        if observation not in OBSERVATIONS:
            known = ", ".join(map(repr, OBSERVATIONS))
            raise BadArgument(f"Expected `observation` to be one of {known}, got {observation!r}.")
        if not isinstance(show_attrs, bool):
            raise BadArgument(f"Expected `show_attrs` to be a bool, got {type(show_attrs)}.")
        if draw not in ("uniform", "weighted"):
            raise BadArgument(f"Expected `draw` to be 'uniform' or 'weighted', got {draw!r}.")
        if max_steps is not None and (
            isinstance(max_steps, bool) or not isinstance(max_steps, int)
        ):
            raise BadArgument(f"Expected `max_steps` to be an int or None, got {max_steps!r}.")
        if max_steps is not None and max_steps < 1:
            raise BadArgument(f"Expected `max_steps` to be at least 1, got {max_steps}.")
        if isinstance(exclude, str):
            raise BadArgument(f"Expected `exclude` to be a list of task ids, got {exclude!r}.")
        named = [task] if tasks is None and task is not None else tasks
        self.catalog = open_catalog(catalog, named)
        given = None if catalog is None else self.catalog
        ids = task_ids(named, catalog=given)
        if exclude:
            left_out = frozenset(task_ids(list(exclude), catalog=self.catalog))
            ids = [name for name in ids if name not in left_out]
        super().__init__(
            task_ids=ids,
            known_task_ids=all_ids(self.catalog),
            task=task,
            rules=rules,
            reward=reward,
            render_mode=render_mode,
        )
        self.observation: Observation = observation
        self.draw = draw
        self.max_steps = max_steps
        self._drawn_kind = self._one_kind() if draw == "weighted" else None
        self._shop = Shop(self.catalog, rules=rules, show_attrs=show_attrs, prices=prices)
        self._render = _renderer(observation, self._shop)
        self._episode: _Episode | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The functions on offer."""
        return TOOLS

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: reseeds the environment's generator.
            options: `task`, a task's id; or `goal`, a whole goal as a record with the official
                keys, whose task is then called `<catalog>/given/<asin>`; and `session`, the
                name that urls show (letters, digits and "._~-").

        Returns:
            The search page and `info`.

        Raises:
            UnknownName: there is no such task.
            BadArgument: an option out of range, or both a task and a goal.
        """
        if isinstance(options, Mapping) and None not in (options.get("task"), options.get("goal")):
            raise BadArgument("Expected either `task` or `goal` among the options, got both.")
        return super().reset(seed=seed, options=options)

    def _draw(self, options: Mapping[str, Any]) -> str:
        if options.get("goal") is not None:
            return ""
        if self._drawn_kind is None:
            return super()._draw(options)
        goals = self.catalog.goals(self._drawn_kind)
        index = goals.draw(float(self.np_random.random()), self.rules)
        return f"{self.catalog.name}/{self._drawn_kind}/{index}"

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        record, session = options.get("goal"), options.get("session")
        if session is not None and not (isinstance(session, str) and _SESSION.fullmatch(session)):
            raise BadArgument(
                'Expected `session` to be 1 to 100 letters, digits or "._~-", got '
                f"{session!r:.120}."
            )
        if record is not None:
            goal = Goal.of(record)
            kind = "given"
            self._current = task = f"{self.catalog.name}/given/{goal.asin}"
        else:
            _, kind, index = parse_task(task)
            goal = self.catalog.goals(kind).goal(index, self._shop.prices or None)
        session = session or re.sub(r"[^A-Za-z0-9._~-]+", "-", task)[:100]
        state = self._shop.start(goal.instruction_text, session)
        self._episode = _Episode(goal, state, self.catalog.digest)
        transition = self._transition("user", "")
        transition.info.update(
            system=_SYSTEM,
            policy=_POLICY,
            tools=json.loads(_SCHEMAS),
            data_version=self.catalog.version,
            catalog={
                "name": self.catalog.name,
                "digest": self.catalog.digest,
                "goals": kind,
                "rules": self.rules,
            },
        )
        return transition

    def _act(self, action: str) -> Transition:
        reading = read(action, self.rules)
        if not reading.calls:
            self._parts().steps += 1
            transition = self._transition("user" if reading.native else "tool", reading.reason)
        elif reading.native:
            transition = self._carry_out(reading.calls[0], "user")
        else:
            transition = self._carry_out_all(reading.calls)
        why = reading.reason or transition.info["invalid_action"]
        transition.info["parse"] = {"status": reading.status, "reason": why}
        return transition

    def _carry_out_all(self, calls: Sequence[Call]) -> Transition:
        """Carry out calls until one is invalid or the shopping is over."""
        observations: list[str] = []
        messages: list[Message] = []
        for call in calls:
            transition = self._carry_out(call, "tool")
            observations.append(transition.observation)
            messages += transition.messages
            if transition.terminated or transition.truncated or transition.info["invalid_action"]:
                break
        transition.observation, transition.messages = "\n".join(observations), messages
        return transition

    def _carry_out(self, call: Call, role: Role) -> Transition:
        episode = self._parts()
        episode.steps += 1
        problem = call.problem
        if not problem:
            shop, state, rng = self._shop, episode.state, self.np_random
            if call.name == "search":
                problem = shop.search(state, call.argument, rng)
            else:
                problem = shop.click(state, call.argument, episode.goal, rng)
        return self._transition(role, problem, call.name)

    def _transition(self, role: Role, problem: str, name: str = "") -> Transition:
        """Return the page as it is now, and the verdict where the shopping is over."""
        episode = self._parts()
        state = episode.state
        page = self._render(state)
        if problem and self.rules == "fixed" and self.observation in ("text", "text_rich"):
            page = f"Invalid action: {problem}\n{page}"
        message: Message = {"role": role, "content": page}
        if role == "tool" and name:
            message["name"] = name
        info = {
            "page": state.page,
            "available": self._shop.available(state),
            "invalid_action": problem,
        }
        transition = Transition(page, [message], info=info)
        score = state.score
        if score is not None:
            transition.terminated = True
            transition.success = score.total == 1.0
            transition.score = score.total
            transition.reason = _shortfall(score)
            info["score_parts"] = dict(score.parts)
        elif self.max_steps is not None and episode.steps >= self.max_steps:
            transition.truncated = True
            transition.reason = "not_bought"
        return transition

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to `snapshot`.

        Raises:
            BadArgument: it is not a snapshot of this kind of environment, or of one with other
                rules or another catalog.
        """
        state = snapshot.state if isinstance(snapshot, Snapshot) else None
        if isinstance(state, _Episode) and state.digest != self.catalog.digest:
            # Pages hold row numbers, which mean other products there.
            raise BadArgument(
                f"Expected a snapshot with the catalog {self.catalog.name!r} "
                f"({self.catalog.digest}), got one of {snapshot.task!r} with {state.digest}."
            )
        super().restore(snapshot)

    def _save(self) -> _Episode:
        return self._parts().copy()

    def _load(self, state: _Episode) -> None:
        self._episode = state.copy()

    def _parts(self) -> _Episode:
        if self._episode is None:
            raise BadArgument("Expected `reset` before `step`.")
        return self._episode

    def _one_kind(self) -> GoalKind:
        """Return the kind of goals that the weighted draw is over, which has to be all of one."""
        kind = parse_task(self.task_ids[0])[1]
        if len(self.task_ids) != len(self.catalog.goals(kind)):
            raise BadArgument(
                "Expected draw='weighted' with all goals of one kind (tasks='synthetic' or "
                f"'human', no `exclude`), got {len(self.task_ids)} tasks."
            )
        return kind


def _renderer(observation: Observation, shop: Shop) -> Callable[[State], str]:
    if observation == "text":
        return Text(shop)
    if observation == "text_rich":
        return RichText(shop)
    if observation == "url":
        return urls.url
    return partial(_html, shop)


def _html(shop: Shop, state: State) -> str:
    from agentenvs.webshop import html

    page: str = html.render(shop.view(state), state.session)
    return page


def _shortfall(score: Score) -> str:
    """Return in short words what a purchase lacks, "" where nothing."""
    parts = score.parts
    shares = {"type": "r_type", "attributes": "r_att", "options": "r_option", "price": "r_price"}
    return ", ".join(word for word, key in shares.items() if parts.get(key, 1.0) < 1.0)
