"""Tests whether rounding explains a difference: inputs that are moved by one unit in the last place move the outputs as
far."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....runtime.graph import Graph, Value
from ....runtime.model import Data, Model
from ...value_text import number_text
from ..report.findings import Demonstration, Difference, LoopFindings
from ..running.sides import ModelSide
from ..running.value_comparison import Tolerance, compare
from .flipped_quantized_values import TippedValueSearch, has_quantizers
from .intervention import Reruns, boundary_value, difference_position
from .rounding_noise import is_float_tensor, move, random_ulp_steps, with_moved_loop_values

#: The most random attempts with moved inputs, and with moved values of loops.
_MAX_INPUT_ATTEMPTS, _MAX_LOOP_ATTEMPTS = 6, 4
#: The most units in the last place by which two runtimes round differently in one iteration.
_MAX_UNITS = 64
#: The same of what one iteration begins with, if the values after it are compared.
_MAX_ITERATION_UNITS = 4
#: An output moves as far as it differs if it moves by this part of the difference: both are equally random.
_AS_FAR_FRACTION = 0.5
#: Where an output moves by less than this part of its difference, further attempts of the same kind are not made,
#: unless a quantised value may tip in one of them.
_HOPELESS_FRACTION = 0.01
_EXACT = Tolerance(0.0, 0.0)


@dataclass
class RoundingResponse:
    """How far outputs move if floats move by some units in the last place. ``subject``: what moved, in words;
    ``moved``: by output, the largest distance; ``amplification``: the same in units in the last place of the output's
    largest number, for one unit; ``inputs``, ``seed``: the attempt that moved the outputs furthest: moved inputs, or
    the seed of moved values of loops."""

    subject: str
    units: int = 1
    inputs: Mapping[Value, Any] = field(default_factory=dict)
    seed: int | None = None
    moved: dict[str, float] = field(default_factory=dict)
    amplification: float = 0.0

    def explains(self, differences: Sequence[Difference]) -> bool:
        """Whether every one of these outputs moves as far as it differs."""
        return bool(differences) and all(
            item.delta.kind == "value" and _AS_FAR_FRACTION * item.delta.absolute <= self.moved.get(item.name, 0.0)
            for item in differences
        )

    def has_hardly_moved_output(self, differences: Sequence[Difference]) -> bool:
        """Whether some output hardly moves compared with its difference."""
        return any(
            self.moved.get(item.name, 0.0) < _HOPELESS_FRACTION * item.delta.absolute
            for item in differences
            if math.isfinite(item.delta.absolute)
        )


def rounding_response(
    reruns: Reruns, outputs: Mapping[str, Data], differences: Sequence[Difference], units: int = 1
) -> RoundingResponse | None:
    """How far rounding moves the outputs.

    Args:
        reruns: runs the model.
        outputs: its outputs.
        differences: those that differ; attempts end as soon as they are explained.
        units: the most units in the last place by which what the loops carry moves.

    Returns:
        The response to moved inputs, or else to moved values of loops; None for a model that has no floats in either.

    Raises:
        RerunsExhaustedError: too many runs were made.
        InterruptError: Ctrl-C.
    """
    responses: dict[str, RoundingResponse] = {}
    by_chance = has_quantizers(reruns.side.model.graph)
    for attempts in (
        _moved_input_attempts(reruns),
        *(_moved_loop_attempts(reruns, number) for number in sorted({1, units})),
    ):
        for attempt in attempts:
            graph = _attempt_graph(reruns.side, attempt)
            run = None if graph is None else reruns.run(graph, attempt.inputs)
            response = responses.setdefault(attempt.subject, attempt)
            if run is None or run.outputs is None:
                continue
            for name, distance, moved_units in _output_movements(outputs, run.outputs):
                response.moved[name] = max(response.moved.get(name, 0.0), distance)
                if moved_units / attempt.units > response.amplification:
                    response.amplification = moved_units / attempt.units
                    response.inputs, response.seed = attempt.inputs, attempt.seed
            if response.explains(differences):
                return response
            if response.has_hardly_moved_output(differences) and not by_chance:
                break
    return max(responses.values(), key=lambda response: response.amplification, default=None)


def _moved_input_attempts(reruns: Reruns) -> Iterator[RoundingResponse]:
    """All away from zero, all towards it, and at random."""
    side = reruns.side
    inputs = [(value, data) for value, data in side.bound_inputs() if is_float_tensor(data)]
    names = " and ".join(f"'{value.name}'" for value, _ in inputs[:3]) + " and others" * (len(inputs) > 3)
    subject = f"moving {names} of {side.label} by one unit in the last place"
    for step in (1, -1) if inputs else ():
        yield RoundingResponse(subject, 1, {value: move(data, step) for value, data in inputs})
    for seed in range(_MAX_INPUT_ATTEMPTS if inputs else 0):
        steps = np.random.default_rng(seed)
        yield RoundingResponse(subject, 1, {value: move(data, random_ulp_steps(steps, data)) for value, data in inputs})


def _moved_loop_attempts(reruns: Reruns, units: int) -> Iterator[RoundingResponse]:
    amount = "one unit" if units == 1 else f"up to {units} units"
    subject = f"moving what the loops of {reruns.side.label} carry by {amount} in the last place in each iteration"
    for seed in range(_MAX_LOOP_ATTEMPTS):
        yield RoundingResponse(subject, units, seed=seed)


def _attempt_graph(side: ModelSide, attempt: RoundingResponse) -> Graph | None:
    """The graph of an attempt, for one run; None if no loop carries floats."""
    graph = side.model.graph
    return graph if attempt.seed is None else with_moved_loop_values(graph, attempt.seed, attempt.units)


def explain_by_rounding(reruns: Reruns, differences: Sequence[Difference], distance: float) -> Demonstration | None:
    """Test whether rounding explains how the outputs of a model differ from what another runtime computes, and name the
    first quantised value that tips; None if it does not explain them. ``distance``: how far what the loops carry
    differs after one iteration that begins with equal values.

    Raises:
        InterruptError: Ctrl-C.
    """
    side = reruns.side
    if side.outputs is None:
        return None
    unit = max((_unit_in_last_place(value) for value in side.outputs.values() if is_float_tensor(value)), default=0.0)
    units = min(max(math.ceil(distance / unit), 1), _MAX_UNITS) if unit and math.isfinite(distance) else 1
    response = rounding_response(reruns, side.outputs, differences, units)
    graph = None if response is None else _attempt_graph(side, response)
    if response is None or graph is None or not response.explains(differences):
        return None
    moved = {value.name: data for value, data in response.inputs.items()}
    sides = ModelSide(side.model, side.inputs), ModelSide(Model(graph), {**side.inputs, **moved})
    tipped = TippedValueSearch(*sides).find()
    return replace(rounding_demonstration(response, differences, reruns), tipped=tipped)


def explain_iteration_by_rounding(reruns: Reruns, findings: LoopFindings) -> Demonstration | None:
    """Test whether rounding explains the first value that differs after one iteration which began with equal values:
    it moves as far if what the iteration begins with moves by a unit in the last place. None if it does not explain it,
    or for nested loops and initial values.

    Raises:
        InterruptError: Ctrl-C.
    """
    first = findings.first
    loop = next((info.loop for info in reruns.side.loops if info.path == findings.left), None)
    if first is None or loop is None or first.iteration is None or first.delta.kind != "value":
        return None
    position = difference_position(findings.left, first)
    for units in (1, _MAX_ITERATION_UNITS):
        for seed in range(_MAX_LOOP_ATTEMPTS):
            graph = with_moved_loop_values(reruns.side.model.graph, seed, units, only=(loop, first.iteration))
            run = None if graph is None else reruns.run(graph, positions=[position], to_end=False)
            boundary = None if run is None else run.boundaries.get(position)
            value = None if boundary is None else boundary_value(boundary, first)
            if value is None:
                continue
            distance = compare(first.left, value, _EXACT).absolute
            if _AS_FAR_FRACTION * first.delta.absolute <= distance:
                amount = "one unit" if units == 1 else f"up to {units} units"
                text = (
                    f"moving what '{loop.name}' carries into iteration {first.iteration} by {amount} in the last place"
                    f" moves '{first.name}' by {_number_text(distance)}, and the difference is"
                    f" {_number_text(first.delta.absolute)}"
                )
                return Demonstration("rounding", text, reruns.count)
    return None


def rounding_demonstration(
    response: RoundingResponse, differences: Sequence[Difference], reruns: Reruns
) -> Demonstration:
    """What moving the inputs has shown."""
    furthest = max(differences, key=lambda item: _difference_to_movement_ratio(item, response))
    text = f"{response.subject} moves '{furthest.name}' by {_number_text(response.moved[furthest.name])}"
    text += f", and the difference is {_number_text(furthest.delta.absolute)}"
    return Demonstration("rounding", text, reruns.count, amplification=response.amplification or None)


def _difference_to_movement_ratio(difference: Difference, response: RoundingResponse) -> float:
    moved = response.moved.get(difference.name, 0.0)
    return difference.delta.absolute / moved if moved and math.isfinite(moved) else 0.0


def _number_text(number: float) -> str:
    return number_text(number) if math.isfinite(number) else "inf"


def _output_movements(before: Mapping[str, Data], after: Mapping[str, Data]) -> Iterator[tuple[str, float, float]]:
    """How far each output moved: the largest distance, and the same in units in the last place."""
    for name, value in before.items():
        delta = compare(value, after[name], _EXACT)
        units = 0.0
        if is_float_tensor(value) and delta.kind == "value" and math.isfinite(delta.absolute):
            unit = _unit_in_last_place(value)
            units = delta.absolute / unit if unit else 0.0
        yield name, delta.absolute, units


def _unit_in_last_place(value: Any) -> float:
    """One unit in the last place of the largest finite number."""
    numbers = np.abs(value[np.isfinite(value.astype(np.float64))])
    if not numbers.size:
        return 0.0
    largest = numbers.max().reshape(1)
    return abs(float(move(largest, 1)[0]) - float(largest[0]))
