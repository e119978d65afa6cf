"""Diagnoses of random programs against exact arithmetic in NumPy; used by ``campaign.py diagnostics``.

``sound``: programs with small inputs. ``extreme``: the same ones with inputs near the ends of their types, NaN and Inf,
so that some overflow.
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
from strategies.program import STRING, Program, ProgramNode
from strategies.program_text import program_text

_KINDS = ("sound", "sound", "sound", "extreme")
_EXACT = frozenset({"Add", "Sub", "Mul", "Neg", "Abs", "Sum", "SumRows", "CumSum", "MatMul"})
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "Equal"})
#: Inputs that say how long loops run.
_CONTROLS = ("M", "K", "bound")
#: Kinds that have to be reported wherever they are true.
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
    return DiagnosedProgram(program, feeds)


def _extreme(value: Any, draw: ChoiceSource) -> Any:
    if value.dtype.kind not in "if" or not value.size or draw.chance(40):
        return value
    if value.dtype.kind == "f":
        return np.where(value > 0, value, value.dtype.type(draw.pick((np.nan, np.inf, 3e38, 0))))
    info = np.iinfo(value.dtype)
    return np.where(value > 0, info.max - value, value).astype(value.dtype)


def true_faults(case: DiagnosedProgram) -> tuple[set[str], program_oracle.OracleResult]:
    """The kinds of faults of a run, by exact arithmetic, and the run."""
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
        return kinds, program_oracle.evaluate(case.program, case.feeds)


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
    except (program_oracle.ProgramFailsError, program_oracle.ProgramTooLargeError):
        return "fails"
    try:
        diagnosis = load_program(case.program).diagnose(case.feeds)
    except loopdbg.LoopdbgError as error:
        return f"RAISED: {error}"
    for finding in diagnosis.findings:
        kind = finding.kind.value
        if kind == "fixed point":
            if not _is_settled(run, finding):
                return f"FALSE: {finding}"
        elif kind not in true and (kind != "unreachable tolerance" or name.startswith("sound")):
            return f"FALSE: {finding}"
    missed = true & _ALWAYS_REPORTED - {finding.kind.value for finding in diagnosis.findings}
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
