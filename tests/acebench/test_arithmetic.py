from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.arithmetic import compute
from agentenvs.syntax import UnreadableCall


def value(text: str) -> Any:
    return compute(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("49+1", 50),
        ("83.7804/2", 41.8902),
        ("7//2*2%4", 2),
        ("2**10", 1024),
        ("1<<4|1", 17),
        ("(5^1)&12>>1", 4),
        ("-(2)*+3", -6),
        ("~1+0", -2),
        ("'a'+'b'*2", "abb"),
        ("[1]+[2]", [1, 2]),
        ("(1,)*2", (1, 1)),
        ("'%s is %d%%'%('x',5)", "x is 5%"),
        ("{'a': 1}|{'b': 2}", {"a": 1, "b": 2}),
        ("10**-2", 0.01),
        ("0*10**3", 0),
        ("True+True", 2),
    ],
)
def test_operators_over_literals(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "9**9999",
        "1<<10**8",
        "'a'*10**9",
        "10**9*[1]",
        "'%999999999d'%1",
        "'%*d'%(999999999,1)",
        "'%(a)s'%{'a':1}",
        "('a'*60000)+('b'*60000)",
        "1/0",
        "'a'+1",
        "[1]-[1]",
        "2.0**10000",
        "1@2",
        "len+1",
        "f(1)+1",
        "(lambda: 1)()+1",
        "{**a}|{}",
        "1+(2 if True else 3)",
        "1+__import__('os').getpid()",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UnreadableCall):
        value(text)


@given(st.integers(-99, 99), st.integers(-99, 99), st.sampled_from(["+", "-", "*", "|", "&", "^"]))
def test_integers_as_python_has_them(left: int, right: int, sign: str) -> None:
    text = f"({left}){sign}({right})"
    assert value(text) == eval(text)  # noqa: S307
