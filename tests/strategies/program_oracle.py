"""The oracle: evaluates a program with plain NumPy, as the shortest form of the semantics of loops.

It shares no code with loopdbg, keeps no state between runs, and decides where real runtimes differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .numpy_operators import OPERATORS
from .program import (
    Dim,
    Program,
    ProgramBody,
    ProgramConstant,
    ProgramIf,
    ProgramLoop,
    ProgramNode,
    ProgramScanOutput,
    ProgramValue,
    ValueType,
)

#: Elements of one tensor, and iterations of a whole run, beyond which a program is of no use as a test.
MAX_ELEMENTS = 50_000
MAX_ITERATIONS = 20_000


class ProgramFailsError(Exception):
    """The program fails: a run of it has to report an error."""


class ProgramTooLargeError(Exception):
    """The program is too large to be of use as a test."""


@dataclass
class OracleBoundary:
    """One boundary. ``entry``: the iterations of the enclosing loops; ``ended``: why the loop ends here."""

    loop: str
    entry: tuple[int, ...]
    iteration: int
    ended: str | None
    condition: bool
    carried: dict[str, Any]
    scanned: dict[str, Any]


@dataclass
class OracleResult:
    """The result of a program."""

    outputs: dict[str, Any] = field(default_factory=dict)
    boundaries: list[OracleBoundary] = field(default_factory=list)
    iterations: int = 0


def evaluate(program: Program, inputs: Mapping[str, Any]) -> OracleResult:
    """Evaluate a program.

    Raises:
        ProgramFailsError: the program fails.
        ProgramTooLargeError: more iterations or elements than a test has time for.
    """
    message = OracleResult()
    values = {value: np.asarray(inputs[value.name]) for value in program.inputs}
    with np.errstate(all="ignore"):
        _run_body(program.body, values, message, ())
    message.outputs = {value.name: values[value] for value in program.outputs}
    return message


Values = dict[ProgramValue, Any]


def _run_body(body: ProgramBody, values: Values, outcome: OracleResult, entry: tuple[int, ...]) -> None:
    for node in body.nodes:
        if isinstance(node, ProgramLoop):
            _loop(node, values, outcome, entry)
        elif isinstance(node, ProgramIf):
            first = bool(_single(values[node.condition]))
            inner = dict(values)
            _run_body(node.then if first else node.other, inner, outcome, entry)
            for output, result in zip(node.outputs, node.results[not first], strict=True):
                values[output] = inner[result]
        elif isinstance(node, ProgramConstant):
            values[node.output] = np.asarray(node.array)
        else:
            values[node.output] = _run_node(node, [values[value] for value in node.inputs])


def _run_node(node: ProgramNode, inputs: list[Any]) -> Any:
    try:
        result = OPERATORS[node.operator].compute(*inputs, **node.attributes)
    except (ValueError, IndexError) as error:
        raise ProgramFailsError(f"{node.operator} ({node.output}): {error}") from None
    result = np.asarray(result, node.output.type.numpy)
    if result.size > MAX_ELEMENTS:
        raise ProgramTooLargeError
    return result


def _single(value: Any) -> Any:
    if value.size != 1:
        raise ProgramFailsError(f"one element is needed, not {value.shape}")
    return value.reshape(-1)[0]


def _loop(loop: ProgramLoop, values: Values, result: OracleResult, entry: tuple[int, ...]) -> None:
    trips = None if loop.trip is None else int(_single(values[loop.trip]))
    if loop.kind == "Loop-5" and trips is not None and trips < 0:
        if trips != -1:
            raise ProgramFailsError("a negative trip count")
        trips = None
    parts = [values[s.outer].shape[s.axis] for s in loop.sliced]
    if loop.kind in ("TensorIterator", "Scan"):
        if len(set(parts)) > 1:
            raise ProgramFailsError("sliced inputs disagree")
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
        result.boundaries.append(
            OracleBoundary(
                loop.name,
                entry,
                i,
                ended,
                going,
                {c.param.name: value for c, value in zip(loop.carried, carried, strict=True)},
                {
                    s.output.name: _join_scanned(s, rows, partial=True)
                    for s, rows in zip(loop.scanned, collected, strict=True)
                },
            )
        )
        if ended:
            break
        result.iterations += 1
        if result.iterations > MAX_ITERATIONS:
            raise ProgramTooLargeError
        inner = dict(values)
        if loop.number is not None:
            inner[loop.number] = np.array(i, loop.number.type.dtype).reshape(np.shape(np.zeros(_dims(loop.number))))
        if loop.condition is not None:
            inner[loop.condition] = condition
        for c, value in zip(loop.carried, carried, strict=True):
            inner[c.param] = value
        for s, count in zip(loop.sliced, parts, strict=True):
            if i >= count:
                raise ProgramFailsError("a slice that is not there")
            index = count - 1 - i if s.backwards else i
            outer = values[s.outer]
            inner[s.param] = np.take(outer, [index] if s.keeps_axis else index, s.axis)
        _run_body(loop.body, inner, result, (*entry, i))
        if loop.keep is not None:
            condition = inner[loop.keep]
            going = bool(_single(condition))
        for s, rows in zip(loop.scanned, collected, strict=True):
            row = inner[s.result]
            if rows and rows[0].shape != row.shape:
                raise ProgramFailsError(f"elements of {s.output} change their shape")
            rows.append(row)
        carried = [inner[c.result] for c in loop.carried]
        i += 1
    for c, value in zip(loop.carried, carried, strict=True):
        values[c.output] = value
    for s, rows in zip(loop.scanned, collected, strict=True):
        values[s.output] = _join_scanned(s, rows)
        if values[s.output].size > MAX_ELEMENTS:
            raise ProgramTooLargeError


def _join_scanned(scanned: ProgramScanOutput, rows: list[Any], partial: bool = False) -> Any:
    if not rows:
        dims = list(_declared(scanned.result.type))
        if scanned.keeps_axis:
            dims[scanned.axis] = 0
        else:
            dims.insert(scanned.axis % (len(dims) + 1), 0)
        return np.zeros(dims, scanned.result.type.numpy)
    if partial and len(rows) > 40:
        return None  # boundaries are compared up to there
    rows = rows[::-1] if scanned.backwards else rows
    return np.concatenate(rows, scanned.axis) if scanned.keeps_axis else np.stack(rows, scanned.axis)


def _dims(value: ProgramValue) -> tuple[int, ...]:
    return tuple(d for d in value.type.shape if isinstance(d, int))


def _declared(type_: ValueType) -> list[int]:
    """An element's dimensions as both exporters declare them: symbols are unknown there."""

    def known(dim: Dim) -> int:
        return dim if isinstance(dim, int) else 0

    return [known(d) for d in type_.shape]


def terminates(program: Program, inputs: Mapping[str, Any]) -> bool:
    """Whether a program ends, possibly with an error, while its values are still small enough to be reported."""
    try:
        evaluate(program, inputs)
    except ProgramFailsError:
        return True
    except ProgramTooLargeError:
        return False
    return True
