"""How a run stands to the certificate in its folder, in a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from agentenvs.errors import AgentEnvsError
from agentenvs.harness.replay.certificate import CERTIFICATE, file_sums, read_certificate
from agentenvs.harness.replay.findings import OUTCOMES, TRANSCRIPTS, Verification

__all__ = ["Standing", "standing", "standings"]

# Beyond this, looking through what changed takes longer than a reader of numbers waits.
_MOST = 50_000


class Standing(NamedTuple):
    """What a certificate says of a run now.

    Attributes:
        holds: whether what was certified is as it was.
        text: that in a line, with the run's path.
    """

    holds: bool
    text: str


def standings(*runs: str | os.PathLike[str]) -> tuple[Standing, ...]:
    """Return how runs stand to their certificates; those without one are left out.

    Args:
        runs: run folders or files of outcomes.
    """
    found = map(standing, runs)
    return tuple(one for one in found if one is not None)


def standing(run: str | os.PathLike[str]) -> Standing | None:
    """Return how a run stands to its certificate, None where there is none. Nothing is played.

    Args:
        run: a run folder, or a file of outcomes.
    """
    path = Path(run)
    folder = path.parent if path.name == OUTCOMES else path
    if not folder.is_dir():
        return None
    try:
        certificate = read_certificate(folder)
        if certificate is None:
            return None
        date = str(certificate.get("certified"))[:10]
        if certificate["rollouts"] > _MOST and certificate["files"] != file_sums(folder):
            told = f"its files were changed since it was certified {date}"
            return _differs(run, folder, told)
        # Replays need far more than this, and most runs have no certificate.
        from agentenvs.harness.replay.verify import verify

        return _stands(run, folder, date, verify(folder, quick=True))
    except AgentEnvsError as error:
        return Standing(False, f"{run}: it was not compared with its {CERTIFICATE}: {error}")


def _stands(run: str | os.PathLike[str], folder: Path, date: str, found: Verification) -> Standing:
    findings = [finding for finding in found.findings if finding.kind != "uncertified"]
    if not findings:
        what = f"{run}: certified {date}, unchanged since"
        if found.uncertified:
            what += (
                f"; {found.uncertified} of {found.rows} rollouts came later and are not certified"
            )
        return Standing(True, what)
    rollouts = len({(one.task, one.rollout) for one in findings if one.task is not None})
    parts = [f"{rollouts} rollout{'' if rollouts == 1 else 's'}"] if rollouts else []
    parts += dict.fromkeys(_file(one.file) for one in findings if one.task is None)
    verb = "differs" if len(parts) == 1 and rollouts < 2 else "differ"
    told = f"{' and '.join(parts)} {verb} from its certificate of {date}"
    return _differs(run, folder, told)


def _differs(run: str | os.PathLike[str], folder: Path, told: str) -> Standing:
    return Standing(False, f"{run}: {told}; `agentenvs verify {folder} --quick` names what")


def _file(name: str) -> str:
    bare = name.partition(":")[0]
    return TRANSCRIPTS if bare.startswith(TRANSCRIPTS) else bare
