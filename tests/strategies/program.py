"""Programs with loops, independent of any file format: the generator builds them, both exporters write them, and the
oracle evaluates them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: A dimension is a number or a symbol: equal symbols mean equal extents.
Dim = int | str
Shape = tuple[Dim, ...]

STRING = "str"


@dataclass(frozen=True)
class ValueType:
    """The type of a value. ``dtype``: its NumPy name, or ``str``."""

    dtype: str
    shape: Shape = ()

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(object if self.dtype == STRING else self.dtype)


@dataclass(eq=False)
class ProgramValue:
    """A value; names are unique in a program."""

    name: str
    type: ValueType

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class ProgramNode:
    """One operator with one output; ``numpy_operators.py`` defines each."""

    operator: str
    inputs: list[ProgramValue]
    output: ProgramValue
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class ProgramConstant:
    output: ProgramValue
    array: Any


@dataclass(eq=False)
class ProgramIf:
    """An If; each branch has nodes and output values."""

    name: str
    condition: ProgramValue
    then: ProgramBody
    other: ProgramBody
    results: tuple[list[ProgramValue], list[ProgramValue]]
    outputs: list[ProgramValue]


@dataclass(eq=False)
class ProgramCarriedValue:
    """A carried value. ``last``: in an IR another result can leave the loop as ``output``; None: the carried one
    does."""

    initial: ProgramValue
    param: ProgramValue
    result: ProgramValue
    output: ProgramValue
    last: ProgramValue | None = None


@dataclass(eq=False)
class ProgramSlicedInput:
    """A sliced input with one element along ``axis`` per iteration; ``keep``: the axis stays, with extent 1 (the slices
    of an IR)."""

    outer: ProgramValue
    param: ProgramValue
    axis: int = 0
    backwards: bool = False
    keeps_axis: bool = False


@dataclass(eq=False)
class ProgramScanOutput:
    """A scan output. ``keep``: elements are concatenated along ``axis`` (as in an IR); otherwise they are stacked on a
    new one."""

    result: ProgramValue
    output: ProgramValue
    axis: int = 0
    backwards: bool = False
    keeps_axis: bool = False


@dataclass(eq=False)
class ProgramLoop:
    """A loop. ``kind``: Loop and Scan are ONNX's, Loop-5 and TensorIterator OpenVINO's.

    ``trip`` or ``initial`` None: the loop has none. ``keep``: the condition that the body yields.
    """

    kind: str
    name: str
    body: ProgramBody
    trip: ProgramValue | None = None
    initial: ProgramValue | None = None
    number: ProgramValue | None = None
    condition: ProgramValue | None = None
    keep: ProgramValue | None = None
    carried: list[ProgramCarriedValue] = field(default_factory=list)
    sliced: list[ProgramSlicedInput] = field(default_factory=list)
    scanned: list[ProgramScanOutput] = field(default_factory=list)

    @property
    def outputs(self) -> list[ProgramValue]:
        return [c.output for c in self.carried] + [s.output for s in self.scanned]

    @property
    def params(self) -> list[ProgramValue]:
        mine = [self.number, self.condition, *(c.param for c in self.carried), *(s.param for s in self.sliced)]
        return [value for value in mine if value is not None]

    @property
    def results(self) -> list[ProgramValue]:
        """The outputs of the body, in no file's order."""
        mine = [self.keep, *(c.result for c in self.carried), *(s.result for s in self.scanned)]
        return [value for value in mine if value is not None]


AnyNode = ProgramNode | ProgramConstant | ProgramIf | ProgramLoop


@dataclass(eq=False)
class ProgramBody:
    nodes: list[AnyNode] = field(default_factory=list)


@dataclass(eq=False)
class Program:
    """A program. ``system``: onnx or openvino. ``features``: the features that it was generated with."""

    system: str
    inputs: list[ProgramValue]
    body: ProgramBody
    outputs: list[ProgramValue]
    features: frozenset[str] = frozenset()


def outputs_of(node: AnyNode) -> list[ProgramValue]:
    return node.outputs if isinstance(node, ProgramLoop | ProgramIf) else [node.output]


def node_reads(node: AnyNode) -> list[ProgramValue]:
    """The values that a node reads from its graph, captures included, each once."""
    if isinstance(node, ProgramNode):
        outcomes = list(node.inputs)
    elif isinstance(node, ProgramConstant):
        outcomes = []
    elif isinstance(node, ProgramIf):
        outcomes = [node.condition]
        for side, results in zip((node.then, node.other), node.results, strict=True):
            outcomes += free_values(side, [], results)
    else:
        outcomes = [v for v in (node.trip, node.initial) if v is not None]
        outcomes += [c.initial for c in node.carried] + [s.outer for s in node.sliced]
        outcomes += free_values(node.body, node.params, node.results)
    return list(dict.fromkeys(outcomes))


def free_values(body: ProgramBody, params: list[ProgramValue], results: list[ProgramValue]) -> list[ProgramValue]:
    """The captures of a body."""
    own = set(params)
    outcomes: list[ProgramValue] = []
    for node in body.nodes:
        outcomes += [v for v in node_reads(node) if v not in own]
        own.update(outputs_of(node))
    outcomes += [v for v in results if v not in own]
    return list(dict.fromkeys(outcomes))


def all_loops(body: ProgramBody) -> Iterator[ProgramLoop]:
    """All loops, outer ones first."""
    for node in body.nodes:
        if isinstance(node, ProgramLoop):
            yield node
            yield from all_loops(node.body)
        elif isinstance(node, ProgramIf):
            yield from all_loops(node.then)
            yield from all_loops(node.other)


def prune(program: Program) -> Program:
    """Remove nodes that nothing reads, so that a failing program is easier to understand."""

    def trim(body: ProgramBody, needed: set[ProgramValue]) -> None:
        kept: list[AnyNode] = []
        for node in reversed(body.nodes):
            if not any(v in needed for v in outputs_of(node)):
                continue
            if isinstance(node, ProgramLoop):
                trim(node.body, set(node.results))
            elif isinstance(node, ProgramIf):
                trim(node.then, set(node.results[0]))
                trim(node.other, set(node.results[1]))
            needed.update(node_reads(node))
            kept.append(node)
        body.nodes = kept[::-1]

    trim(program.body, set(program.outputs))
    used = set(free_values(program.body, [], program.outputs))
    program.inputs = [v for v in program.inputs if v in used]
    return program
