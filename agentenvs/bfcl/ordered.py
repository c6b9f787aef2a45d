"""Sets with a fixed order of texts, so that results do not depend on Python's hash seed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

__all__ = ["OrderedSet", "with_ordered_sets"]


class OrderedSet(set[Any]):
    """A set that goes through and prints its members in sorted order where they are texts."""

    def __iter__(self) -> Iterator[Any]:
        members = list(super().__iter__())
        if any(isinstance(member, str) for member in members):
            members.sort(key=repr)
        return iter(members)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}" if self else "set()"

    def __sub__(self, other: Any) -> OrderedSet:
        return OrderedSet(super().__sub__(other))

    def __and__(self, other: Any) -> OrderedSet:
        return OrderedSet(super().__and__(other))

    def __or__(self, other: Any) -> OrderedSet:
        return OrderedSet(super().__or__(other))

    def __xor__(self, other: Any) -> OrderedSet:
        return OrderedSet(super().__xor__(other))


class _Displays(ast.NodeTransformer):
    """Writes `{a, b}` as `set([a, b])`; the name leads to `OrderedSet` in the loaded module."""

    def visit_Set(self, node: ast.Set) -> ast.Call:
        self.generic_visit(node)
        members = ast.List(node.elts, ast.Load())
        return ast.Call(ast.Name("set", ast.Load()), [members], [])


def with_ordered_sets(source: str) -> ast.Module:
    """Return a module's syntax tree in which set displays are calls of `set`."""
    tree = ast.parse(source)
    tree.body = [_Displays().visit(statement) for statement in tree.body]
    return ast.fix_missing_locations(tree)
