from __future__ import annotations

import copy
import inspect

import pytest

from agentenvs import errors
from agentenvs.errors import BrowserError, InfrastructureFault, UnknownName, did_you_mean


def test_every_error_is_public_and_has_the_one_base() -> None:
    classes = {
        n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)
    }
    assert classes | {"did_you_mean"} == set(errors.__all__)
    assert all(issubclass(getattr(errors, name), errors.AgentEnvsError) for name in classes)


def test_the_tree_in_the_docstring_is_complete() -> None:
    assert all(name in str(errors.__doc__) for name in set(errors.__all__) - {"did_you_mean"})


def test_unknown_name_prints_without_quotes() -> None:
    assert str(UnknownName("There is no x.")) == "There is no x."
    with pytest.raises(KeyError):
        raise UnknownName("There is no x.")


def test_hints() -> None:
    assert did_you_mean("bass", ["base", "mini"]) == " Did you mean 'base'?"
    assert did_you_mean("ACEBENCH", ["ACEBench", "bfcl"]) == " Did you mean 'ACEBench'?"
    assert did_you_mean("x_1", ["en/x_1", "zh/x_1", "en/x_12"]) == " Did you mean 'en/x_1'?"
    assert did_you_mean("zzz", ["base", "mini"]) == " Known: 'base', 'mini'."
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", map(str, range(20))).endswith("'7', ... (20 in all).")
    assert did_you_mean("zzz", map(str, range(20)), total=6910).endswith("... (6910 in all).")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InfrastructureFault("The server is busy.", "http_503"), "http_503"),
        (InfrastructureFault("It broke."), "fault"),
        (BrowserError("The browser is gone."), "browser"),
        (BrowserError("The browser is slow.", "timeout"), "timeout"),
    ],
)
def test_a_fault_keeps_its_reason_where_it_is_copied_as_from_process_to_process(
    error: InfrastructureFault, reason: str
) -> None:
    sent = copy.copy(error)
    assert (type(sent), str(sent), sent.reason) == (type(error), str(error), reason)
