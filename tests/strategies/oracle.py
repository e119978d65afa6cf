"""What a program gives, computed with plain NumPy: the semantics of loops in the fewest words, and of nothing else.

It shares no code with loopdbg, keeps no state between two runs, and is the oracle where real runtimes differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .operators import OPERATORS
from .programs import Body, Branch, Constant, Dim, Loop, Node, Program, Scanned, Type, Value

#: Elements of one tensor, and iterations of a whole run, beyond which a program is of no use as a test.
MOST_ELEMENTS = 50_000
MOST_ITERATIONS = 20_000


class Fails(Exception):
    """The program fails: a run of it has to say so."""


class TooLarge(Exception):
    """The program is of no use as a test."""


@dataclass
class Boundary:
    """One boundary: ``entry`` is the iterations of the loops around it; ``ended`` why the loop ends here."""

    loop: str
    entry: tuple[int, ...]
    iteration: int
    ended: str | None
    condition: bool
    carried: dict[str, Any]
    scanned: dict[str, Any]


@dataclass
class Told:
    """What a program gave."""

    outputs: dict[str, Any] = field(default_factory=dict)
    boundaries: list[Boundary] = field(default_factory=list)
    iterations: int = 0


def evaluate(program: Program, inputs: Mapping[str, Any]) -> Told:
    """Compute a program.

    Raises:
        Fails: it does.
        TooLarge: more iterations or elements than a test has time for.
    """
    told = Told()
    values = {value: np.asarray(inputs[value.name]) for value in program.inputs}
    with np.errstate(all="ignore"):
        _run(program.body, values, told, ())
    told.outputs = {value.name: values[value] for value in program.outputs}
    return told


Values = dict[Value, Any]


def _run(body: Body, values: Values, told: Told, entry: tuple[int, ...]) -> None:
    for node in body.nodes:
        if isinstance(node, Loop):
            _loop(node, values, told, entry)
        elif isinstance(node, Branch):
            first = bool(_single(values[node.condition]))
            inner = dict(values)
            _run(node.then if first else node.other, inner, told, entry)
            for output, result in zip(node.outputs, node.results[not first], strict=True):
                values[output] = inner[result]
        elif isinstance(node, Constant):
            values[node.output] = np.asarray(node.array)
        else:
            values[node.output] = _operate(node, [values[value] for value in node.inputs])


def _operate(node: Node, inputs: list[Any]) -> Any:
    try:
        result = OPERATORS[node.operator].compute(*inputs, **node.attributes)
    except (ValueError, IndexError) as error:
        raise Fails(f"{node.operator} ({node.output}): {error}") from None
    result = np.asarray(result, node.output.type.numpy)
    if result.size > MOST_ELEMENTS:
        raise TooLarge
    return result


def _single(value: Any) -> Any:
    if value.size != 1:
        raise Fails(f"one element is needed, not {value.shape}")
    return value.reshape(-1)[0]


def _loop(loop: Loop, values: Values, told: Told, entry: tuple[int, ...]) -> None:
    trips = None if loop.trip is None else int(_single(values[loop.trip]))
    if loop.kind == "Loop-5" and trips is not None and trips < 0:
        if trips != -1:
            raise Fails("a negative trip count")
        trips = None
    parts = [values[s.outer].shape[s.axis] for s in loop.sliced]
    if loop.kind in ("TensorIterator", "Scan"):
        if len(set(parts)) > 1:
            raise Fails("sliced inputs disagree")
        trips = parts[0]
    going = True if loop.initial is None else bool(_single(values[loop.initial]))
    condition: Any = np.array(going)
    carried = [values[c.initial] for c in loop.carried]
    collected: list[list[Any]] = [[] for _ in loop.scanned]
    i = 0
    while True:
        ended = None
        if (loop.initial is not None or loop.kind == "Loop-5") and not going:
            ended = "condition"
        elif trips is not None and i >= trips:
            ended = "input_exhausted" if loop.kind == "TensorIterator" else "trip_count"
        told.boundaries.append(
            Boundary(
                loop.name,
                entry,
                i,
                ended,
                going,
                {c.param.name: value for c, value in zip(loop.carried, carried, strict=True)},
                {
                    s.output.name: _joined(s, rows, partial=True)
                    for s, rows in zip(loop.scanned, collected, strict=True)
                },
            )
        )
        if ended:
            break
        told.iterations += 1
        if told.iterations > MOST_ITERATIONS:
            raise TooLarge
        inner = dict(values)
        if loop.number is not None:
            inner[loop.number] = np.array(i, loop.number.type.dtype).reshape(np.shape(np.zeros(_dims(loop.number))))
        if loop.condition is not None:
            inner[loop.condition] = condition
        for c, value in zip(loop.carried, carried, strict=True):
            inner[c.param] = value
        for s, count in zip(loop.sliced, parts, strict=True):
            if i >= count:
                raise Fails("a slice that is not there")
            at = count - 1 - i if s.backwards else i
            outer = values[s.outer]
            inner[s.param] = np.take(outer, [at] if s.keep else at, s.axis)
        _run(loop.body, inner, told, (*entry, i))
        if loop.keep is not None:
            condition = inner[loop.keep]
            going = bool(_single(condition))
        for s, rows in zip(loop.scanned, collected, strict=True):
            row = inner[s.result]
            if rows and rows[0].shape != row.shape:
                raise Fails(f"elements of {s.output} change their shape")
            rows.append(row)
        carried = [inner[c.result] for c in loop.carried]
        i += 1
    for c, value in zip(loop.carried, carried, strict=True):
        values[c.output] = value
    for s, rows in zip(loop.scanned, collected, strict=True):
        values[s.output] = _joined(s, rows)
        if values[s.output].size > MOST_ELEMENTS:
            raise TooLarge


def _joined(scanned: Scanned, rows: list[Any], partial: bool = False) -> Any:
    if not rows:
        dims = list(_declared(scanned.result.type))
        if scanned.keep:
            dims[scanned.axis] = 0
        else:
            dims.insert(scanned.axis % (len(dims) + 1), 0)
        return np.zeros(dims, scanned.result.type.numpy)
    if partial and len(rows) > 40:
        return None  # what boundaries show is compared up to there
    rows = rows[::-1] if scanned.backwards else rows
    return np.concatenate(rows, scanned.axis) if scanned.keep else np.stack(rows, scanned.axis)


def _dims(value: Value) -> tuple[int, ...]:
    return tuple(d for d in value.type.shape if isinstance(d, int))


def _declared(type_: Type) -> list[int]:
    """An element's dims as both writers declare them: tokens are not known there."""

    def known(dim: Dim) -> int:
        return dim if isinstance(dim, int) else 0

    return [known(d) for d in type_.shape]


def ends(program: Program, inputs: Mapping[str, Any]) -> bool:
    """Whether a program ends, be it by an error, while its values are still small enough to be told."""
    try:
        evaluate(program, inputs)
    except Fails:
        return True
    except TooLarge:
        return False
    return True
