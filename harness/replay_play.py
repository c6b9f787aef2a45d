"""One recorded rollout played again: the same actions into a fresh episode, no model asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import gymnasium

from agentenvs.core import Message
from agentenvs.errors import InfrastructureFault, SourceError
from agentenvs.harness.episode import Episode, Step
from agentenvs.harness.exchange import Completion, FinishReason
from agentenvs.harness.pool import parse_counts
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.recorded_arm import RecordedArm, recorded_arm
from agentenvs.harness.replay_findings import BOTH, OUTCOMES, Finding, Kind, excerpts
from agentenvs.harness.replay_rows import Record
from agentenvs.harness.row_sums import sum_holds, text_key
from agentenvs.harness.seeds import derive

__all__ = ["Checked", "Replayer", "Setup"]

_STEP = Step._fields
_FINISHES = get_args(FinishReason)
_plain = json.JSONEncoder(default=repr).encode


@dataclass(frozen=True, slots=True)
class Setup:
    """What a replay needs to know of a run; plain data, which can go to another process.

    Attributes:
        settings: what `run.json` holds.
        env_id: an id with the module that registers it, or None.
        env_kwargs: arguments of the environment that say where things lie now.
        prompt: the run's prompt, where it was one of its own.
        plain: whether an environment in a browser gives way to the one of the same text.
        stale: whether a difference proves nothing, since something else differs already.
    """

    settings: Mapping[str, Any]
    env_id: str | None = None
    env_kwargs: Mapping[str, Any] | None = None
    prompt: Prompt | None = None
    plain: bool = True
    stale: bool = False

    def arm(self) -> RecordedArm:
        """Return the run's arm."""
        return recorded_arm(
            self.settings,
            env_id=self.env_id,
            env_kwargs=self.env_kwargs,
            prompt=self.prompt,
            plain=self.plain,
        )


class Checked(NamedTuple):
    """What came of one rollout.

    Attributes:
        success: the verdict of the replay.
        steps: how many actions were played.
        findings: what does not hold.
    """

    success: bool
    steps: int
    findings: list[Finding]


class _Said(NamedTuple):
    """A transcript as it stands in its file."""

    seed: Any
    temperature: Any
    success: bool
    reason: Any
    opening: list[dict[str, Any]]
    steps: list[list[Any]]


class _End(NamedTuple):
    """What a replay came to; `raised` says why it came to nothing."""

    success: bool
    score: float
    reason: str
    opening: Sequence[Message]
    steps: Sequence[Step]
    over: bool
    raised: str = ""


class _RecordedUser:
    """Says what the user of a recorded rollout said, whatever it is asked."""

    def __init__(self) -> None:
        self.words = ""

    def __call__(self, messages: Sequence[Message]) -> str:
        return self.words

    def begin(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take note of what came in next: the user's words stand last in it."""
        words = messages[-1].get("content") if messages else ""
        self.words = words if isinstance(words, str) else ""


class Replayer:
    """Plays recorded rollouts one after another and compares them with their records.

    Args:
        setup: what the rollouts were made with.
    """

    def __init__(self, setup: Setup) -> None:
        recorded = setup.arm()
        settings = setup.settings
        self._arm, self._shown = recorded.arm, recorded.shown
        self._differs: Kind = "stale" if setup.stale else "edited"
        self._tasks = frozenset(recorded.arm.task_ids)
        self._gone = frozenset(recorded.unknown)
        self._user = _RecordedUser() if recorded.user else None
        self._seed = int(settings.get("seed", 0))
        self._requests: int | None = settings.get("max_requests")
        told = settings.get("sampling", {}).get("temperature")
        self._temperature = None if settings.get("sampler") else told
        policy = settings.get("policy", {})
        scripted = isinstance(policy, Mapping) and policy.get("scripted") is True
        self._marks = (True, policy.get("name")) if scripted else (None, None)
        self._env: gymnasium.Env[Any, Any] | None = None
        self._keys: dict[str, str] = {}

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def check(self, record: Record) -> Checked:
        """Play a rollout again and return what does not hold.

        Raises:
            InfrastructureFault: what surrounds the environment failed.
            SourceError: official data cannot be had.
        """
        findings = list(self._check_row(record))
        said = _read(record, findings)
        if said is None:
            return Checked(False, 0, findings)
        findings.extend(self._check_against(record, said))
        if record.task not in self._tasks:
            if record.task in self._gone:
                gone = _found("stale", record, OUTCOMES, "task_id", record.task, "no such task now")
                findings.append(gone)
            return Checked(False, 0, findings)
        seed = said.seed if said.seed == record.outcome.get("seed") else self._derived(record)
        if type(seed) is not int:
            seed = self._derived(record)
        end = self._play(record, said, seed)
        differences = list(self._compare(record, said, end))
        steady = self._differs == "stale" or not differences
        if not steady and not _same(end, self._play(record, said, seed, fresh=True)):
            differences = [finding._replace(kind="unsteady") for finding in differences]
        return Checked(end.success, len(end.steps), findings + differences)

    def _derived(self, record: Record) -> int:
        return derive(self._seed, record.task, record.rollout)

    def _check_row(self, record: Record) -> Iterator[Finding]:
        """Compare a row with the settings of the run."""
        row = record.outcome
        expected: dict[str, Any] = {"seed": self._derived(record)}
        if self._temperature is not None:
            expected["temperature"] = self._temperature
        expected["scripted"], expected["policy"] = self._marks
        for key, value in expected.items():
            if row.get(key) != value:
                yield _found("edited", record, OUTCOMES, key, row.get(key), value)

    def _check_against(self, record: Record, said: _Said) -> Iterator[Finding]:
        """Compare a transcript with its outcome, and with its own sum."""
        if sum_holds(record.transcript) is False:
            yield _found("edited", record, record.segment, "sum", "the text of now", "another")
        for key in ("seed", "temperature"):
            own, other = getattr(said, key), record.outcome.get(key)
            if own != other:
                yield _found("edited", record, record.segment, key, own, other)

    def _play(self, record: Record, said: _Said, seed: int, fresh: bool = False) -> _End:
        if fresh:
            self.close()
        episode: Episode | None = None
        try:
            if self._env is None:
                more = {} if self._user is None else {"user": self._user}
                self._env = self._arm.make_env(**more)
            if self._user is not None:
                self._user.begin(said.opening)
            # As chat, since a text is cut at stop strings, which it was before it was kept.
            episode = Episode(
                self._env,
                self._arm.prompt,
                form="chat",
                task=record.task,
                seed=seed,
                rollout=record.rollout,
                env_id=self._arm.env_id,
                max_requests=self._requests,
            )
            for text, news, _, finish, _ in said.steps:
                if episode.request is None:
                    break
                if self._user is not None:
                    self._user.begin(news)
                episode.respond(Completion(text, finish_reason=finish))
        except (InfrastructureFault, SourceError):
            raise
        except Exception as error:
            self.close()
            raised = f"{type(error).__name__}: {error}"
            steps = () if episode is None else tuple(episode.steps)
            return _End(False, 0.0, "", (), steps, False, raised)
        return _End(
            episode.success,
            episode.score,
            episode.reason,
            episode.opening,
            episode.steps,
            episode.done,
        )

    def _compare(self, record: Record, said: _Said, end: _End) -> Iterator[Finding]:
        kind = self._differs
        where = record.segment
        if end.raised:
            yield _found(kind, record, where, f"steps[{len(end.steps)}]", "a reply", end.raised)
            return
        if self._shown and not self._same_opening(said.opening, end.opening):
            opening = [self._named(message) for message in end.opening]
            yield _found(kind, record, where, "opening", *excerpts(said.opening, opening))
        yield from self._compare_steps(record, said, end)
        if not end.over:
            told = f"over after {len(said.steps)} replies"
            yield _found(kind, record, where, "end", told, "goes on")
            return
        if len(end.steps) < len(said.steps):
            told = f"{len(said.steps)} replies"
            yield _found(kind, record, where, "end", told, f"over after {len(end.steps)}")
        row = record.outcome
        for key in ("success", "reason"):
            own, other, now = row.get(key), getattr(said, key), getattr(end, key)
            if own == other != now:
                yield _found(kind, record, BOTH, key, own, now)
            elif own != other:
                # Where the two files disagree, one is wrong whatever a replay comes to.
                if own != now:
                    yield _found("edited", record, OUTCOMES, key, own, now)
                if other != now:
                    yield _found("edited", record, where, key, other, now)
        counts = {
            "score": end.score,
            "steps": len(end.steps),
            "parse": parse_counts(end.steps),
        }
        for key, value in counts.items():
            if row.get(key) != value:
                yield _found(kind, record, OUTCOMES, key, row.get(key), value)

    def _compare_steps(self, record: Record, said: _Said, end: _End) -> Iterator[Finding]:
        """Yield how the first step differs that does; what follows from it goes without saying."""
        for number, (then, now) in enumerate(zip(said.steps, end.steps, strict=False)):
            last = end.over and number == len(end.steps) - 1
            # What a prompt that is not known made of the news cannot be compared.
            compared = self._shown or (last and end.reason != "max_requests")
            differs = [
                (key, *pair)
                for key, *pair in zip(_STEP, then, now, strict=True)
                if (key != "news" or compared) and not _equal(*pair)
            ]
            for key, recorded, replayed in differs:
                field = f"steps[{number}].{key}"
                values = excerpts(recorded, replayed)
                yield _found(self._differs, record, record.segment, field, *values)
            if differs:
                return

    def _same_opening(self, then: Sequence[Mapping[str, Any]], now: Sequence[Message]) -> bool:
        return len(then) == len(now) and all(
            one == (self._named(two) if "text" in one else two)
            for one, two in zip(then, now, strict=True)
        )

    def _named(self, message: Message) -> Mapping[str, Any]:
        """Return a system message as transcripts have it, under the name of its text."""
        if message["role"] != "system":
            return message
        content = message["content"]
        key = self._keys.get(content)
        if key is None:
            if len(self._keys) >= 1_000:
                self._keys.clear()
            key = self._keys[content] = text_key(content)
        return {"role": "system", "text": key}


def _read(record: Record, findings: list[Finding]) -> _Said | None:
    """Return the transcript, or None where it is none, which is then a finding."""
    try:
        row = json.loads(record.transcript)
        said = _Said(*(row[key] for key in _Said._fields))
        fits = (
            type(said.success) is bool
            and _are_messages(said.opening)
            and isinstance(said.steps, list)
            and all(
                isinstance(step, list)
                and len(step) == len(_STEP)
                and isinstance(step[0], str)
                and _are_messages(step[1])
                and step[3] in _FINISHES
                for step in said.steps
            )
        )
        why = "opening, verdict and steps"
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        fits, why = False, f"a transcript: {type(error).__name__}: {error}"
    if not fits:
        shown = record.transcript[:200].decode("ascii", "replace")
        findings.append(_found("edited", record, record.segment, "row", shown, why))
        return None
    return said


def _are_messages(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, dict) for one in found)


def _equal(then: Any, now: Any) -> bool:
    if isinstance(now, tuple):
        now = list(now)
    if then == now:
        return True
    # The record went through JSON.
    return not isinstance(now, str | int | float) and bool(then == json.loads(_plain(now)))


def _same(one: _End, two: _End) -> bool:
    """Return whether two replays are the same."""
    return _plain(one) == _plain(two)


def _found(
    kind: Kind, record: Record, file: str, field: str, recorded: Any, replayed: Any
) -> Finding:
    return Finding(kind, record.task, record.rollout, file, field, recorded, replayed)
