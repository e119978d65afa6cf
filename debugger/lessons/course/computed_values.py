"""What Python computes for the lesson files: values of a run, for expressions and texts, and inputs that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from ....runtime.graph import StoppedBy, System
from ....runtime.text import count_text
from ...describe.explain import explain
from ..course_expressions import ComputedValues
from ..loop_modes import modes_of_system
from ..scene import Scene, SceneRun

_CLIMB = Scene("climb.onnxtxt")
_HALVE = Scene("halve.onnxtxt", {"first": True, "x0": 5})
#: Lesson 3's counter, which lesson 12 has in TensorRT.
COUNTER = Scene("counter.onnx", {"max_trips": 10, "start": 0, "step": 3, "limit": 20})
#: The declared length of the loop outputs of lesson 21.
_OUTPUT_LENGTH = 6


def _second_to_last_count(run: SceneRun) -> int:
    counts = run["counts"]
    count: int = counts[-2] if len(counts) > 1 else run["start"]
    return count


def sequential_assignment(run: SceneRun, backward: bool = False) -> list[int]:
    """The result if each assignment of lesson 7 saw those before it."""
    names = [name for name in "abc" if f"{name}0" in run.scene.inputs]
    values = [run[f"{name}0"] for name in names]
    order = list(range(len(values)))
    for _ in range(run["n"]):
        for k in reversed(order) if backward else order:
            values[k] = values[(k + 1) % len(values)]
    return values


def _final_values(run: SceneRun) -> list[int]:
    return [run[f"{name}_last"] for name in "abc" if f"{name}0" in run.scene.inputs]


def _number_before_iteration(run: SceneRun, loop: str, iteration: int) -> int | None:
    """The value of number before an iteration; None if it does not exist."""
    if iteration > len(run["x"]):
        return None
    number: int = run.carried_value(loop, "number", iteration)
    return number


def _onnx_counts(run: SceneRun) -> list[int]:
    counts: list[int] = COUNTER.with_inputs(limit=run["limit"]).reference_run["counts"]
    return counts


def _tensorrt_condition_lines() -> str:
    """The lines of the counter's TensorRT explanation that carry the condition."""
    [explanation] = explain(COUNTER.load(), System.TENSORRT)
    rows = [row for section in explanation.terms.sections for row in section.rows]
    return "\n".join(f"  {left}: {right}" for left, right in rows if "kWHILE" in left or "below_in" in left)


def _mode_lines(system: System) -> str:
    """The rows of a system's table."""
    return "\n".join(f"  {row.text}: {row.ending_text}." for row in modes_of_system(system))


class _Slice:
    """The slice attributes of a TensorIterator input, in lesson 17."""

    def __init__(self, start: int = 0, end: int = -1, stride: int = 1, size: int = 1) -> None:
        self.start, self.end, self.stride, self.size = start, end, stride, size

    @property
    def text(self) -> str:
        """The attributes as in the file."""
        return f'start="{self.start}" end="{self.end}" stride="{self.stride}" part_size="{self.size}"'

    def joined_parts(
        self, x: list[int], *, start: int | None = None, backward: bool | None = None, extra: int = 0
    ) -> list[Any]:
        """The result of a rule: the joined parts times ten. ``start``, ``backward``: override attributes;
        ``extra``: the number of elements read beyond the end."""
        first, last = (v if v >= 0 else len(x) + 1 + v for v in (self.start, self.end))
        low, high = min(first, last), max(first, last)
        if start is not None:
            low, high = start, start + high - low
        pieces = [x[k : k + self.size] for k in range(low, min(high + extra, len(x)), abs(self.stride))]
        reverse = self.stride < 0 if backward is None else backward
        return [10 * value for piece in (reversed(pieces) if reverse else pieces) for value in piece]


#: By the file names of the models.
_SLICES = {
    "cut_pairs.xml": _Slice(stride=2, size=2),
    "cut_threes.xml": _Slice(stride=3, size=3),
    "cut_range.xml": _Slice(start=1, end=5),
    "cut_from_end.xml": _Slice(start=-5, end=-2),
    "cut_tail.xml": _Slice(start=2),
    "cut_back.xml": _Slice(start=-1, end=0, stride=-1),
    "cut_pairs_back.xml": _Slice(start=-1, end=0, stride=-2, size=2),
    "cut_range_back.xml": _Slice(start=5, end=2, stride=-1),
}


def _scene_slice(run: SceneRun) -> _Slice:
    return _SLICES[run.scene.model]


def _joined_parts(run: SceneRun, **rule: Any) -> list[Any]:
    return _scene_slice(run).joined_parts(run["x"], **rule)


def _running_sums(run: SceneRun) -> list[int]:
    """The sums if both inputs of lesson 18 were read from their front."""
    sums, total = [], 0
    for a, b in zip(run["x"], run["y"], strict=True):
        total += a * b
        sums.append(total)
    return sums


def _result_with_fixed_branches(run: SceneRun, even: bool, odd: bool) -> int:
    """The result of lesson 19 by a wrong rule that always takes certain branches."""
    x = int(run["x0"])
    for _ in range(run["n"]):
        is_even = x % 2 == 0
        x = x // 2 if (is_even and even) or (not is_even and not odd) else 3 * x + 1
    return x


def _covered_branch_points(run: SceneRun) -> int:
    """The points of lesson 24's If that one run covers."""
    x, taken = int(run["x0"]), []
    for _ in range(run["n"]):
        taken.append(x % 2 == 0)
        x = x // 2 if taken[-1] else 3 * x + 1
    return 2 + len(set(taken[1:])) if taken else 0


def _first_overflow_iteration(run: SceneRun) -> int | None:
    """The iteration of lesson 28 whose result is not twice what it received."""
    pairs = enumerate(zip(run["got"], run["gave"], strict=True))
    return next((k for k, (received, yielded) in pairs if yielded != 2 * received), None)


def _result_with_changed_count(run: SceneRun, change: int) -> int | None:
    if run["n"] + change < 0:
        return None
    x: int = run.scene.with_inputs(n=run["n"] + change).reference_run["x_last"]
    return x


def _is_reversed(run: SceneRun) -> bool:
    return "reverse" in run.scene.model


def _collected_values(
    run: SceneRun, first: int, backward: bool = False, front: bool = False, padded: bool = True
) -> list[int]:
    """The values collected by a rule: from an iteration on, optionally reversed, and padded in front, behind or not."""
    n, x0 = run["n"], run["x0"]
    values = [x0 + 3 * (k + first) for k in range(n)]
    zeros = [0] * (_OUTPUT_LENGTH - n if padded else 0)
    values = values[::-1] if backward else values
    return [*zeros, *values] if front else [*values, *zeros]


#: By the names in the lesson files, in the order of the lessons.
COMPUTED_VALUES: ComputedValues = {
    "got_and_final_value": lambda run: [*run["got"], run["x_last"]],
    "repeated_initial_value": lambda run: [run["x0"]] * run["n"],
    "second_to_last_count": _second_to_last_count,
    "halved_result": lambda run: _HALVE.with_inputs(x0=run["x0"]).reference_run["x_last"],
    "climb_iterations": lambda run: _CLIMB.with_inputs(**run.scene.inputs).reference_run.iterations,
    "final_values": _final_values,
    "sequential_assignment": sequential_assignment,
    "sequential_assignment_backward": partial(sequential_assignment, backward=True),
    "values_one_iteration_earlier": lambda run: _final_values(run.scene.with_inputs(n=run["n"] - 1).reference_run),
    "earlier_trades": lambda run: count_text(run["n"] - 1, "trade"),
    "number_2_forwards": partial(_number_before_iteration, loop="forwards", iteration=2),
    "number_1_backwards": partial(_number_before_iteration, loop="backwards", iteration=1),
    "number_2_backwards": partial(_number_before_iteration, loop="backwards", iteration=2),
    "number_3_backwards": partial(_number_before_iteration, loop="backwards", iteration=3),
    "prepended_digits": lambda run: int(f"{run['x'][-2]}{run['x'][-1]}"),
    "rows_of_full_length": lambda run: [run["n"]] * int(run["n"]),
    "rows_with_kept_height": lambda run: [k * (k + 1) // 2 for k in range(1, run["n"] + 1)],
    "onnx_counts": _onnx_counts,
    "counts_with_last_value": lambda run: [*run["got"], run["last"]],
    "tensorrt_condition_lines": lambda run: _tensorrt_condition_lines(),
    "onnx_modes": lambda run: _mode_lines(System.ONNX),
    "openvino_modes": lambda run: _mode_lines(System.OPENVINO),
    "tensorrt_modes": lambda run: _mode_lines(System.TENSORRT),
    "ending_limit": lambda run: "trip count" if run.stopped_by is StoppedBy.TRIP_COUNT else "condition",
    "short_a": lambda run: f"{run['a']:g}",
    "short_tol": lambda run: f"{run['tol']:g}",
    "slice_text": lambda run: _scene_slice(run).text,
    "slice_stride": lambda run: abs(_scene_slice(run).stride),
    "part_elements": lambda run: count_text(_scene_slice(run).size, "element"),
    "parts_in_other_order": lambda run: _joined_parts(run, backward=_scene_slice(run).stride > 0),
    "parts_turned_inside": lambda run: _joined_parts(run)[::-1],
    "parts_from_first_element": partial(_joined_parts, start=0),
    "parts_to_one_behind_end": partial(_joined_parts, extra=1),
    "all_elements": lambda run: [10 * v for v in run["x"]],
    "elements_at_stride": lambda run: [10 * v for v in run["x"][:: abs(_scene_slice(run).stride)]],
    "parts_without_last": lambda run: _joined_parts(run)[: -_scene_slice(run).size],
    "parts_without_first": lambda run: _joined_parts(run)[_scene_slice(run).size :],
    "forward_sums": _running_sums,
    "reversed_forward_sums": lambda run: _running_sums(run)[::-1],
    "scan_products": lambda run: [a * b for a, b in zip(run["x"], run["y"][::-1], strict=True)],
    "one_iteration_fewer": partial(_result_with_changed_count, change=-1),
    "one_iteration_more": partial(_result_with_changed_count, change=1),
    "always_halved": partial(_result_with_fixed_branches, even=True, odd=False),
    "branches_swapped": partial(_result_with_fixed_branches, even=False, odd=True),
    "direction": lambda run: "reverse" if _is_reversed(run) else "forward",
    "final_state_row": lambda run: next(k for k, row in enumerate(run["Y"]) if row[0] == run["Y_h"][0]),
    "first_row_read": lambda run: run["lens"][0] - 1 if _is_reversed(run) else 0,
    "received": partial(_collected_values, first=0, padded=False),
    "received_padded_in_front": partial(_collected_values, first=0, front=True),
    "received_reversed_padded": partial(_collected_values, first=0, backward=True),
    "yielded_padded": partial(_collected_values, first=1),
    "yielded_reversed": partial(_collected_values, first=1, backward=True, padded=False),
    "yielded_reversed_padded_in_front": partial(_collected_values, first=1, backward=True, front=True),
    "covered_branch_points": _covered_branch_points,
    "coverable_branch_points": lambda run: 2 * min(2 * run["n"], 3),
    "written_elements": lambda run: sum(range(1, len(run["rows_last"]) + 1)),
    "exponent": lambda run: int(run["x0"]).bit_length() - 1,
    "first_overflow": _first_overflow_iteration,
    "listed_counts": lambda run: ", ".join(map(str, run["counts"])),
}


def _counter_inputs(random: Random) -> Mapping[str, Any]:
    step = random.randint(2, 7)
    return {"start": random.randint(0, 4), "step": step, "limit": step * random.randint(2, 6) + random.randint(1, 6)}


def _different_values(random: Random, names: str, most: int) -> Mapping[str, Any]:
    """Different initial values, and up to ``most`` iterations."""
    values = random.sample(range(1, 10), len(names))
    return {"n": random.randint(2, most), **{f"{name}0": value for name, value in zip(names, values, strict=True)}}


def _spec_inputs(random: Random) -> Mapping[str, Any]:
    b = random.randint(2, 9)
    # With a <= b the second iteration is always the last.
    a = random.randint(2, b) if random.random() < 0.2 else b + random.randint(1, 6)
    return {"a": a, "b": b, "max_trip_count": random.randint(4, 9)}


def _layer_inputs(random: Random) -> Mapping[str, Any]:
    steps = random.randint(5, 9)
    return {"X": [[[float(k)]] for k in range(1, steps + 1)], "lens": [random.randint(3, steps - 1)]}


#: Generators of inputs that depend on each other, by the names in the lesson files.
DRAWN_INPUTS: Mapping[str, Callable[[Random], Mapping[str, Any]]] = {
    "counter": _counter_inputs,
    "swap": partial(_different_values, names="ab", most=7),
    "rotation": partial(_different_values, names="abc", most=5),
    "digits": lambda random: {"x": random.sample(range(1, 10), random.randint(3, 5))},
    "spec": _spec_inputs,
    "square_root": lambda random: {"a": float(random.randint(2, 30)), "tol": float(random.randint(1000, 2000))},
    "scan": lambda random: {
        "x": random.sample(range(1, 6), 3),
        "y": [10 * k for k in random.sample(range(1, 6), 3)],
    },
    "layer": _layer_inputs,
}
