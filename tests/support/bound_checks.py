"""Bounds of trip counts, stated before a run, against the run; used by ``campaign.py bounds``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

import loopdbg
from dtype_loops import draw_loop, onnx_model
from loopdbg.debugger.describe.trip_count_bound import TripCountBound, trip_count_bound
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.graph.producers import ProducerMap
from strategies import program_generator
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_export import to_onnx
from text_models import load_proto, proto

#: Iterations after which a run is stopped.
MAX_ITERATIONS = 3000
#: Larger inputs may overflow in a formula.
_MAX_FORMULA_NUMBER = 10**6
_KINDS = ("counters", "counters", "dtypes", "programs")
_SIGNS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
_INTEGERS = {"int64": np.int64, "int32": np.int32}
_FLOATS = {"float": np.float32, "double": np.float64}


@dataclass
class BoundCase:
    """A model, its inputs, and the text that it was made of."""

    model: loopdbg.Model
    feeds: Mapping[str, Any]
    text: str


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of the cases with these numbers: each kind in turn."""
    return [f"{_KINDS[number % len(_KINDS)]} {number}" for number in numbers]


def make_case(name: str) -> BoundCase:
    """The case of a name."""
    draw = SeededChoices(f"bounds {name}")
    kind = name.partition(" ")[0]
    if kind == "counters":
        return draw_counter(draw)
    if kind == "dtypes":
        of = draw_loop(draw)
        source = onnx_model(of)
        feeds = {f"{name}_0": initial for name, (initial, _) in of.values.items()}
    else:
        features = draw.pick((("condition",), ("nested",), ("hot",), ("branches",), ("scan",), ("counted",)))
        program = program_generator.draw_program(draw, features)
        source, feeds = to_onnx(program), program_generator.draw_feeds(program, draw)
    return BoundCase(load_proto(source), feeds, onnx.printer.to_text(source))


def draw_counter(draw: ChoiceSource) -> BoundCase:
    """A loop with a counter, a limit and perhaps a trip count, each a constant or an input."""
    is_float = draw.chance(25)
    name = draw.pick(tuple(_FLOATS if is_float else _INTEGERS))
    dtype = (_FLOATS | _INTEGERS)[name]
    feeds: dict[str, Any] = {}
    inputs, before, body = [], [], []

    def operand(label: str, number: float, kind: str = name, as_input: int = 35, lines: list[str] = before) -> str:
        """A constant or an input."""
        if draw.chance(as_input):
            feeds[label] = np.array(number, (_FLOATS | _INTEGERS)[kind])
            inputs.append(f"{kind} {label}")
        else:
            text = repr(float(number)) if kind in _FLOATS else str(int(number))
            lines.append(f"{label} = Constant <value = {kind} {{{text}}}> ()")
        return label

    edge = np.finfo(dtype).max if is_float else np.iinfo(dtype).max
    far = int(edge) if not is_float and draw.chance(8) else 0
    scale = draw.pick((1, 1, 1, 0.5, 0.1)) if is_float else 1
    start = operand("s", draw.integer(-20, 20) * scale + (far - 25 if far else 0))
    limit = operand("l", draw.integer(-40, 60) * scale + (far - 60 if far else 0) if draw.chance(90) else edge)
    step = operand("d", draw.pick((1, 1, 2, 3, 7, -1, -2, 0)) * scale, as_input=10)
    offset = operand("o", draw.integer(-3, 3), as_input=20)
    body.append(f"n = {draw.pick(('Add', 'Add', 'Sub'))} (c, {step})")
    left = draw.pick(("n", "c", "p", "i") if name == "int64" else ("n", "c", "p"))
    if left == "p":
        body.append(f"p = {draw.pick(('Add', 'Sub', 'Mul'))} ({draw.pick(('c', 'n'))}, {offset})")
    sides = (left, limit) if draw.chance(70) else (limit, left)
    body.append(f"q = {draw.pick(_SIGNS)} ({sides[0]}, {sides[1]})")
    result = "q"
    if draw.chance(30):
        body.append("r = Not (q)")
        result = "r"
    if draw.chance(25):
        other = operand("e", draw.integer(0, 30) * scale)
        body.append(f"u = {draw.pick(_SIGNS)} (n, {other}) v = {draw.pick(('And', 'Or'))} ({result}, u)")
        result = "v"
    body.append(f"co = Identity ({result})")
    count = ""
    if draw.chance(45):
        count = operand("m", draw.integer(-1, 40), "int64")
        if draw.chance(40):
            before.append(f"two = Constant <value = int64 {{{draw.integer(1, 3)}}}> ()")
            before.append(f"mm = {draw.pick(('Div', 'Add', 'Mul', 'Sub', 'Max'))} ({count}, two)")
            count = "mm"
    if draw.chance(75):
        before.append("t = Constant <value = bool {1}> ()")
    else:
        before.append(f"t = {draw.pick(_SIGNS)} ({start}, {limit})")
    text = (
        f"g ({', '.join(inputs)}) => ({name} y) {{ {' '.join(before)} y = Loop <body: graph = b (int64 i, bool ci, "
        f"{name} c) => (bool co, {name} n) {{ {' '.join(body)} }}> ({count}, t, {start}) }}"
    )
    return BoundCase(load_proto(proto(text)), feeds, text)


def judge_case(name: str) -> str:
    """``exact``, ``bound``, ``endless`` or ``none``, if that is true of the run; else FALSE."""
    case = make_case(name)
    origins = ProducerMap.for_graph(case.model.graph)
    bounds = {node.loop: trip_count_bound(node.loop, origins) for node in case.model.loops}
    try:
        run = case.model.execute(case.feeds, max_iterations=MAX_ITERATIONS)
    except loopdbg.LoopdbgError:
        return "fails"
    values = {value: case.feeds[value.name] for value in case.model.graph.inputs if value.name in case.feeds}
    outcomes = []
    for node in case.model.loops:
        total = next((total for total in run.loops if total.path == node.path), None)
        if total is None:
            continue
        for bound in (bounds[node.loop], bounds[node.loop].evaluate(values)):
            problem = contradiction(bound, total.iterations, total.stopped_by is StoppedBy.LIMIT)
            if problem:
                return f"FALSE: {node.path}: {problem}"
        known = bounds[node.loop].evaluate(values)
        if known.is_exact and not formula_holds(bounds[node.loop], case.feeds, known.maximum):
            return f"FALSE: {node.path}: {bounds[node.loop].text} is not {known.maximum}"
        outcomes.append(_outcome(known))
    return outcomes[0] if outcomes else "none"


def contradiction(bound: TripCountBound, iterations: int, is_stopped: bool) -> str:
    """How a run contradicts a bound; empty if it does not. ``is_stopped``: by the limit of the run."""
    if bound.cannot_end and iterations and not is_stopped:
        return f"cannot end, but ran {iterations}"
    if bound.maximum is None:
        return "exact without a number" if bound.is_exact else ""
    if iterations > bound.maximum or (is_stopped and iterations >= bound.maximum):
        return f"at most {bound.text}, {bound.maximum}, but ran {iterations}"
    if bound.is_exact and iterations != bound.maximum and not is_stopped:
        return f"exactly {bound.text}, {bound.maximum}, but ran {iterations}"
    return ""


def formula_holds(bound: TripCountBound, feeds: Mapping[str, Any], number: int | None) -> bool:
    """Whether the text of a bound gives a number; true where it is open, or its names or numbers leave that open."""
    if bound.is_open or not bound.text or any(np.size(value) != 1 for value in feeds.values()):
        return True
    formula = bound.text.partition(" = ")[0].replace("min(", "least(")
    names: dict[str, Any] = {"ceil": math.ceil, "floor": math.floor, "max": max, "least": min}
    names |= {name: np.asarray(value).item() for name, value in feeds.items()}
    if any(abs(value) > _MAX_FORMULA_NUMBER for value in names.values() if isinstance(value, int | float)):
        return True
    try:
        value = eval(formula, {"__builtins__": {}}, names)
        # A counter that moves away from its limit wraps around.
        return max(value, 0) == number or value < 1
    except (NameError, SyntaxError, ZeroDivisionError):
        return True


def describe_case(name: str) -> str:
    """A case as text."""
    case = make_case(name)
    return f"{case.text}\n{dict(case.feeds)}"


def _outcome(bound: TripCountBound) -> str:
    if bound.cannot_end:
        return "endless"
    return "none" if bound.maximum is None else "exact" if bound.is_exact else "bound"
