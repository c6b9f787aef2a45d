"""The release of TRL whose inner methods this room overrides."""

from __future__ import annotations

from typing import Any

from agentenvs.errors import BadArgument

__all__ = ["READ", "library"]

READ = "1.16.0"
"""The release whose source was read, and under which the tests ran."""

_FROM, _BELOW = (1, 16), (1, 17)


def library() -> Any:
    """Return the module `trl`.

    Raises:
        BadArgument: it is missing, or another release than those that have the same methods.
    """
    try:
        import trl
    except ImportError as error:
        raise BadArgument(
            f"Training with TRL needs the extra `trl`: pip install 'agentenvs[trl]' ({error})."
        ) from error
    told = str(trl.__version__)
    if not _FROM <= _numbers(told) < _BELOW:
        raise BadArgument(
            f"Expected trl >= {_FROM[0]}.{_FROM[1]} and < {_BELOW[0]}.{_BELOW[1]}, got {told}: "
            "inner methods of its GRPOTrainer are overridden here, and they move between "
            f"releases. Release {READ} was read."
        )
    return trl


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
