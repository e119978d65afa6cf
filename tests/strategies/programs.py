"""Programs with loops, of no file format: what the generator makes, both writers write and the oracle computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: A dimension is a number or a token that stands for one: equal tokens mean equal extents.
Dim = int | str
Shape = tuple[Dim, ...]

STRING = "str"


@dataclass(frozen=True)
class Type:
    """``dtype``: NumPy's name of it, or ``str``."""

    dtype: str
    shape: Shape = ()

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(object if self.dtype == STRING else self.dtype)


@dataclass(eq=False)
class Value:
    """A value; names are unique in a program."""

    name: str
    type: Type

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Node:
    """One operator with one output; ``operators.py`` says what each means."""

    operator: str
    inputs: list[Value]
    output: Value
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Constant:
    output: Value
    array: Any


@dataclass(eq=False)
class Branch:
    """An If; each side is nodes and the values that leave it."""

    name: str
    condition: Value
    then: Body
    other: Body
    results: tuple[list[Value], list[Value]]
    outputs: list[Value]


@dataclass(eq=False)
class Carried:
    """``last``: in an IR another result can leave the loop as ``output``; None: it is what is carried."""

    initial: Value
    param: Value
    result: Value
    output: Value
    last: Value | None = None


@dataclass(eq=False)
class Sliced:
    """One element along ``axis`` an iteration; ``keep``: the axis stays, with extent 1 (the parts of an IR)."""

    outer: Value
    param: Value
    axis: int = 0
    backwards: bool = False
    keep: bool = False


@dataclass(eq=False)
class Scanned:
    """``keep``: elements are concatenated along ``axis`` (as an IR does); otherwise they are stacked on a new one."""

    result: Value
    output: Value
    axis: int = 0
    backwards: bool = False
    keep: bool = False


@dataclass(eq=False)
class Loop:
    """``kind``: Loop and Scan are ONNX's, Loop-5 and TensorIterator OpenVINO's.

    ``trip`` or ``initial`` None: the loop has none. ``keep``: the condition that the body yields.
    """

    kind: str
    name: str
    body: Body
    trip: Value | None = None
    initial: Value | None = None
    number: Value | None = None
    condition: Value | None = None
    keep: Value | None = None
    carried: list[Carried] = field(default_factory=list)
    sliced: list[Sliced] = field(default_factory=list)
    scanned: list[Scanned] = field(default_factory=list)

    @property
    def outputs(self) -> list[Value]:
        return [c.output for c in self.carried] + [s.output for s in self.scanned]

    @property
    def params(self) -> list[Value]:
        mine = [self.number, self.condition, *(c.param for c in self.carried), *(s.param for s in self.sliced)]
        return [value for value in mine if value is not None]

    @property
    def results(self) -> list[Value]:
        """What leaves the body, in no file's order."""
        mine = [self.keep, *(c.result for c in self.carried), *(s.result for s in self.scanned)]
        return [value for value in mine if value is not None]


AnyNode = Node | Constant | Branch | Loop


@dataclass(eq=False)
class Body:
    nodes: list[AnyNode] = field(default_factory=list)


@dataclass(eq=False)
class Program:
    """``system``: onnx or openvino. ``features``: the names that it was made with."""

    system: str
    inputs: list[Value]
    body: Body
    outputs: list[Value]
    features: frozenset[str] = frozenset()


def outputs_of(node: AnyNode) -> list[Value]:
    return node.outputs if isinstance(node, Loop | Branch) else [node.output]


def reads(node: AnyNode) -> list[Value]:
    """What a node reads from the graph around it, captures included; each value once."""
    if isinstance(node, Node):
        found = list(node.inputs)
    elif isinstance(node, Constant):
        found = []
    elif isinstance(node, Branch):
        found = [node.condition]
        for side, results in zip((node.then, node.other), node.results, strict=True):
            found += free(side, [], results)
    else:
        found = [v for v in (node.trip, node.initial) if v is not None]
        found += [c.initial for c in node.carried] + [s.outer for s in node.sliced]
        found += free(node.body, node.params, node.results)
    return list(dict.fromkeys(found))


def free(body: Body, params: list[Value], results: list[Value]) -> list[Value]:
    """What a body takes from outside by name."""
    own = set(params)
    found: list[Value] = []
    for node in body.nodes:
        found += [v for v in reads(node) if v not in own]
        own.update(outputs_of(node))
    found += [v for v in results if v not in own]
    return list(dict.fromkeys(found))


def loops(body: Body) -> Iterator[Loop]:
    """All loops, outer ones first."""
    for node in body.nodes:
        if isinstance(node, Loop):
            yield node
            yield from loops(node.body)
        elif isinstance(node, Branch):
            yield from loops(node.then)
            yield from loops(node.other)


def pruned(program: Program) -> Program:
    """Without nodes that nothing reads: what is left is what a reader of a failing program has to look at."""

    def trim(body: Body, needed: set[Value]) -> None:
        kept: list[AnyNode] = []
        for node in reversed(body.nodes):
            if not any(v in needed for v in outputs_of(node)):
                continue
            if isinstance(node, Loop):
                trim(node.body, set(node.results))
            elif isinstance(node, Branch):
                trim(node.then, set(node.results[0]))
                trim(node.other, set(node.results[1]))
            needed.update(reads(node))
            kept.append(node)
        body.nodes = kept[::-1]

    trim(program.body, set(program.outputs))
    used = set(free(program.body, [], program.outputs))
    program.inputs = [v for v in program.inputs if v in used]
    return program
