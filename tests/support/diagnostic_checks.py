"""Diagnoses of random programs against exact arithmetic in NumPy; used by ``campaign.py diagnostics``.

``sound``: programs with small inputs. ``extreme``: the same ones with inputs near the ends of their types, NaN and Inf,
so that some overflow. ``injected``: the body of one loop also computes something that is often wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import loopdbg
from random_program_checks import load_program
from strategies import program_generator, program_oracle
from strategies.draws import ChoiceSource, SeededChoices
from strategies.numpy_operators import OPERATORS
from strategies.program import (
    STRING,
    Program,
    ProgramConstant,
    ProgramLoop,
    ProgramNode,
    ProgramScanOutput,
    ProgramValue,
    ValueType,
    all_loops,
)
from strategies.program_text import program_text

_KINDS = ("sound", "sound", "sound", "extreme", "injected")
_EXACT = frozenset({"Add", "Sub", "Mul", "Neg", "Abs", "Sum", "SumRows", "CumSum", "MatMul"})
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "Equal"})
#: Inputs that say how long loops run.
_CONTROLS = ("M", "K", "bound")
#: Kinds that have to be reported wherever they are true; a comparison has to decide something.
_ALWAYS_REPORTED = frozenset({"integer overflow", "index outside"})


@dataclass
class DiagnosedProgram:
    """A program with its inputs."""

    program: Program
    feeds: Mapping[str, Any]


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of the cases with these numbers."""
    return [f"{_KINDS[number % len(_KINDS)]} {number}" for number in numbers]


def make_case(name: str) -> DiagnosedProgram:
    """The case of a name."""
    draw = SeededChoices(f"diagnostics {name.rpartition(' ')[2]}")
    features = {draw.pick(list(program_generator.FEATURES)) for _ in range(draw.integer(1, 4))} - {"failing"}
    program = program_generator.draw_program(draw, features)
    feeds = program_generator.draw_feeds(program, draw)
    if name.startswith("extreme"):
        feeds = {key: value if key in _CONTROLS else _extreme(value, draw) for key, value in feeds.items()}
    elif name.startswith("injected"):
        loops = [loop for loop in all_loops(program.body) if loop.kind in ("Loop", "Scan")]
        if loops:
            _inject(draw.pick(loops), draw)
    return DiagnosedProgram(program, feeds)


def _inject(loop: ProgramLoop, draw: ChoiceSource) -> None:
    """Let a body compute and collect something of a number that it has: products and sums near the end of an integer
    type, a Cast to one, the element of a table, or a choice by a comparison with a quantity that may be NaN."""
    own = [*loop.params, *(node.output for node in loop.body.nodes if isinstance(node, ProgramNode))]
    numbers = [value for value in own if value.type.dtype in ("int32", "int64", "float32", "float64")]
    if not numbers:
        return
    source, names = draw.pick(numbers), iter(range(100))

    def add(operator: str, inputs: list[ProgramValue], dtype: str, shape: tuple[Any, ...], **attributes: Any) -> Any:
        output = ProgramValue(f"injected{next(names)}", ValueType(dtype, shape))
        loop.body.nodes.append(ProgramNode(operator, inputs, output, attributes))
        return output

    def constant(number: Any) -> ProgramValue:
        output = ProgramValue(f"injected{next(names)}", ValueType(number.dtype.name, number.shape))
        loop.body.nodes.append(ProgramConstant(output, number))
        return output

    kind = draw.pick(("product", "sum", "cast", "table", "nan"))
    dtype = draw.pick(("int32", "int64"))
    end = np.iinfo(dtype).max
    shape = source.type.shape
    if kind in ("product", "sum"):
        number = add("Cast", [source], dtype, shape, to=dtype)
        operand = constant(np.array(end // 3 if kind == "product" else end - draw.integer(0, 3), dtype))
        result = add("Mul" if kind == "product" else "Add", [number, operand], dtype, shape)
    elif kind == "cast":
        number = add("Cast", [source], "float64", shape, to="float64")
        scaled = add("Mul", [number, constant(np.array(end / 2))], "float64", shape)
        result = add("Cast", [scaled], dtype, shape, to=dtype)
    elif kind == "table":
        total = add("Sum", [source], source.type.dtype, ())
        index = add("Cast", [total], "int64", (), to="int64")
        result = add("Gather", [constant(np.arange(4, dtype=dtype)), index], dtype, ())
    else:
        dtype = "float32"
        number = add("Cast", [source], dtype, shape, to=dtype)
        zero = constant(np.array(0, dtype))
        infinite = add("Mul", [number, constant(np.array(np.inf, dtype))], dtype, shape)  # 0 * inf is NaN
        result = add("Where", [add("Less", [infinite, zero], "bool", shape), zero, number], dtype, shape)
    total = result if result.type.shape == () else add("Sum", [result], dtype, ())
    loop.scanned.append(ProgramScanOutput(total, ProgramValue("injected", ValueType(dtype, (f"{loop.name}_length",)))))


def _extreme(value: Any, draw: ChoiceSource) -> Any:
    if value.dtype.kind not in "if" or not value.size or draw.chance(40):
        return value
    if value.dtype.kind == "f":
        return np.where(value > 0, value, value.dtype.type(draw.pick((np.nan, np.inf, 3e38, 0))))
    info = np.iinfo(value.dtype)
    return np.where(value > 0, info.max - value, value).astype(value.dtype)


def true_faults(case: DiagnosedProgram) -> tuple[set[str], program_oracle.OracleResult | None]:
    """The kinds of faults of a run, by exact arithmetic, and the run; None: it fails."""
    kinds: set[str] = set()
    run_node = program_oracle._run_node

    def observe(node: ProgramNode, inputs: list[Any]) -> Any:
        if node.operator == "Gather" and not -inputs[0].shape[0] <= int(inputs[1]) < inputs[0].shape[0]:
            kinds.add("index outside")
        result = run_node(node, inputs)
        if _overflows(node, inputs, result):
            kinds.add("integer overflow")
        if node.operator in _COMPARISONS and any(x.dtype.kind == "f" and np.isnan(x).any() for x in inputs):
            kinds.add("NaN compared")
        return result

    with mock.patch.object(program_oracle, "_run_node", observe):
        try:
            return kinds, program_oracle.evaluate(case.program, case.feeds)
        except program_oracle.ProgramFailsError:
            return kinds, None


def _overflows(node: ProgramNode, inputs: list[Any], result: Any) -> bool:
    if result.dtype.kind not in "iu" or node.output.type.dtype == STRING:
        return False
    if node.operator == "Cast":
        pairs = zip(inputs[0].reshape(-1).tolist(), result.reshape(-1).tolist(), strict=True)
        return any(x == x and (abs(x) == np.inf or int(x) != y) for x, y in pairs)
    if node.operator not in _EXACT:
        return False
    exact = OPERATORS[node.operator].compute(*(x.astype(object) for x in inputs), **node.attributes)
    return bool((np.asarray(exact, object) != result.astype(object)).any())


def judge_case(name: str) -> str:
    """``clean``: nothing is wrong, and nothing reported; ``reported``: what is wrong is; else FALSE or MISSES."""
    case = make_case(name)
    try:
        true, run = true_faults(case)
    except program_oracle.ProgramTooLargeError:
        return "fails"
    if run is None and not true:
        return "fails"
    try:
        diagnosis = load_program(case.program).diagnose(case.feeds)
    except loopdbg.LoopdbgError as error:
        return f"RAISED: {error}"
    for finding in diagnosis.findings:
        kind = finding.kind.value
        if kind == "fixed point":
            if run is not None and not _is_settled(run, finding):
                return f"FALSE: {finding}"
        elif kind not in true and (kind != "unreachable tolerance" or name.startswith("sound")):
            return f"FALSE: {finding}"
    expected = true & _ALWAYS_REPORTED if not name.startswith("injected") else true
    missed = expected - {finding.kind.value for finding in diagnosis.findings}
    if missed:
        return f"MISSES: {', '.join(missed)}"
    return "reported" if diagnosis.findings else "clean"


def _is_settled(run: program_oracle.OracleResult, finding: loopdbg.Diagnostic) -> bool:
    """Whether the condition of a loop stays true from an iteration on, to its end."""
    name = finding.loop.rpartition(" ▸ ")[2]
    later = [
        boundary
        for boundary in run.boundaries
        if boundary.loop == name and boundary.entry == finding.entry and boundary.iteration >= (finding.iteration or 0)
    ]
    return bool(later) and all(boundary.condition for boundary in later)


def describe_case(name: str) -> str:
    """A case as text."""
    case = make_case(name)
    return f"{program_text(case.program)}\n{dict(case.feeds)}"
