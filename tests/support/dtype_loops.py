"""Random loops of all dtypes, as models and as computed with NumPy: the subject of :mod:`statement_checks`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx import helper as h
from onnx import numpy_helper as nh

from strategies.draws import ChoiceSource

#: Boundaries whose values are all kept, and iterations that are computed to see whether the condition ends the loop.
MAX_KEPT_BOUNDARIES, MAX_ITERATIONS = 40, 30_000
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
SHAPES: tuple[tuple[int, ...], ...] = ((3,), (2, 3), (), (1,), (0,), (2, 0), (40,))
COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "NotEqual": np.not_equal,
}
SIGNS = {"Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=", "NotEqual": "!="}


@dataclass(frozen=True)
class LoopUpdate:
    """How a carried value becomes the next one."""

    op: str
    operand: Any

    def __call__(self, value: Any) -> Any:
        with np.errstate(all="ignore"):
            if self.op == "Div" and value.dtype.kind in "iu":
                # Rounded towards zero, as ONNX defines it.
                x, y = value.astype(object), np.asarray(self.operand).astype(object)
                return np.asarray(np.where(value < 0, -(-x // y), x // y)).astype(value.dtype)
            if self.op == "Reverse":
                return value[::-1] if value.ndim else value
            if self.op in ("Neg", "Not"):
                return np.negative(value) if self.op == "Neg" else np.logical_not(value)
            if self.op == "Identity":
                return value
            done = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[self.op](
                value, self.operand
            )
            return np.asarray(done).astype(value.dtype)


@dataclass(frozen=True)
class DtypeLoop:
    """A loop over ``values``: the initial value and the update of each. The first, ``n``, is compared with
    ``limit``."""

    values: Mapping[str, tuple[Any, LoopUpdate]]
    comparison: str
    limit: Any
    compares_updated: bool
    trips: int | None
    initial: bool | None

    def condition_after(self, before: Any, after: Any) -> bool:
        """The condition that an iteration yields."""
        return bool(COMPARED[self.comparison](after if self.compares_updated else before, self.limit))


@dataclass(frozen=True)
class LoopCourse:
    """The course of a loop: its first boundaries; after how many iterations it ends, and why; after how many its
    condition alone would end it (None: not within the computed iterations)."""

    boundaries: list[dict[str, Any]]
    iteration_count: int | None
    ended_by: str
    condition_iteration_count: int | None


# -- one loop


def draw_loop(draw: ChoiceSource) -> DtypeLoop:
    """Draw a random loop."""
    dtype = np.dtype(draw.pick((*INTEGERS, *FLOATS)))
    number = draw_number(draw, dtype)
    updates = ("Add", "Sub", "Mul", "Div", "Identity")
    values: dict[str, tuple[Any, LoopUpdate]] = {"n": (number, LoopUpdate(draw.pick(updates), _factor(draw, dtype)))}
    for k in range(draw.integer(1, 3)):
        values[f"t{k}"] = _tensor(draw)
    limit = draw.pick([draw_number(draw, dtype), np.array(0, dtype), np.array(draw.integer(0, 100), dtype)])
    trips = draw.pick([None, None, draw.integer(0, 12), draw.integer(2, 30), 2**40, draw.integer(-2, 0)])
    initial = draw.pick([True, True, True, None, draw.chance(50)])
    return DtypeLoop(values, draw.pick(tuple(COMPARED)), limit, draw.chance(70), trips, initial)


def draw_number(draw: ChoiceSource, dtype: np.dtype[Any]) -> Any:
    """A random number of a dtype, often an extreme one."""
    if dtype.kind == "f":
        info = np.finfo(dtype)
        odd = [1.0, 0.0, -0.0, 100.0, 0.1, float(info.max), float(info.tiny), -3.5, math.inf, math.nan]
        return np.array(draw.pick(odd) if draw.chance(60) else draw.integer(-1000, 1000) / 8).astype(dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    some = draw.pick([draw.integer(0, 100), draw.integer(low, high), high - draw.integer(0, 3), low, 2**53 + 1, 1000])
    return np.array(min(max(some, low), high), dtype)


def _factor(draw: ChoiceSource, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.array(draw.pick([0.5, 1.0, 2.0, 0.9, 0.1, 1.5, -1.0, 0.99, 3.0, 1e-3]), dtype)
    return np.array(draw.pick([1, 2, 3, 7, 10, 100]), dtype)


def _tensor(draw: ChoiceSource) -> tuple[Any, LoopUpdate]:
    shape = draw.pick(SHAPES)
    size = math.prod(shape)
    if draw.chance(12):
        data = np.array([draw.chance(50) for _ in range(size)], bool).reshape(shape)
        return data, LoopUpdate(draw.pick(("Not", "Identity")), None)
    dtype = np.dtype(draw.pick((*INTEGERS, *FLOATS)))
    each = np.array([draw_number(draw, dtype) for _ in range(size)], dtype).reshape(shape)
    if draw.chance(30):
        each = np.full(shape, draw_number(draw, dtype), dtype)
    ops = ["Add", "Sub", "Mul", "Div", "Identity"]
    ops += ["Reverse"] * bool(shape) + ["Neg"] * (dtype.kind in "if")
    # If the update of every element differs, the largest change is at a unique position.
    by = np.array([_factor(draw, dtype) for _ in range(size)], dtype).reshape(shape) if draw.chance(50) else None
    return each, LoopUpdate(draw.pick(ops), _factor(draw, dtype) if by is None else by)


def compute_course(of: DtypeLoop) -> LoopCourse:
    """Compute the loop with NumPy."""
    now = {name: initial for name, (initial, _) in of.values.items()}
    boundaries = [now]
    go = of.initial is not False
    trips = math.inf if of.trips is None else max(of.trips, 0)
    ignored = of.initial is None
    ends = 0 if not go or not trips else None
    by = "" if ends is None else "trip_count" if go else "condition"
    condition = None if go or ignored else 0
    number = now["n"]
    update = of.values["n"][1]
    for k in range(1, MAX_ITERATIONS):
        before, number = number, update(number)
        go = ignored or of.condition_after(before, number)
        if len(boundaries) <= MAX_KEPT_BOUNDARIES:
            now = {name: change(now[name]) for name, (_, change) in of.values.items()}
            boundaries.append(now)
        if not go and condition is None:
            condition = k
        if ends is None and (not go or k >= trips):
            ends, by = k, "trip_count" if go else "condition"
        if (
            (condition is not None or ignored)
            and (ends is not None or trips > MAX_ITERATIONS)
            and len(boundaries) > MAX_KEPT_BOUNDARIES
        ):
            break
    kept = boundaries if ends is None else boundaries[: ends + 1]
    return LoopCourse(kept, ends, by, condition)


def onnx_model(of: DtypeLoop) -> onnx.ModelProto:
    """The loop as a model, whose inputs are the initial values."""
    kinds = {name: h.np_dtype_to_tensor_dtype(np.asarray(initial).dtype) for name, (initial, _) in of.values.items()}
    shapes = {name: list(np.shape(initial)) for name, (initial, _) in of.values.items()}
    constants = [nh.from_array(np.asarray(of.limit), "lim")]
    nodes = []
    for name, (_, update) in of.values.items():
        inputs = [name]
        if update.op == "Reverse":
            order = np.arange(shapes[name][0], dtype=np.int64)[::-1].copy()
            constants.append(nh.from_array(order, f"{name}_by"))
            nodes.append(h.make_node("Gather", [name, f"{name}_by"], [f"{name}_next"], axis=0))
            continue
        if update.op not in ("Neg", "Not", "Identity"):
            constants.append(nh.from_array(np.asarray(update.operand), f"{name}_by"))
            inputs.append(f"{name}_by")
        nodes.append(h.make_node(update.op, inputs, [f"{name}_next"]))
    side = "n_next" if of.compares_updated else "n"
    if of.comparison == "NotEqual":
        nodes += [h.make_node("Equal", [side, "lim"], ["same"]), h.make_node("Not", ["same"], ["keep"])]
    else:
        nodes.append(h.make_node(of.comparison, [side, "lim"], ["keep"]))
    nodes.append(h.make_node("Identity", ["t0_next"], ["part"]))
    info = h.make_tensor_value_info
    body = h.make_graph(
        nodes,
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, [])]
        + [info(name, kinds[name], shapes[name]) for name in of.values],
        [info("keep", TensorProto.BOOL, [])]
        + [info(f"{name}_next", kinds[name], shapes[name]) for name in of.values]
        + [info("part", kinds["t0"], shapes["t0"])],
    )
    if of.trips is not None:
        constants.append(nh.from_array(np.array(of.trips, np.int64), "trips"))
    if of.initial is not None:
        constants.append(nh.from_array(np.array(of.initial), "go"))
    first = ["trips" if of.trips is not None else "", "go" if of.initial is not None else ""]
    node = h.make_node(
        "Loop", [*first, *(f"{name}_0" for name in of.values)], [*(f"{name}_out" for name in of.values), "parts"],
        name="L", body=body,
    )  # fmt: skip
    graph = h.make_graph(
        [node],
        "g",
        [info(f"{name}_0", kinds[name], shapes[name]) for name in of.values],
        [info(f"{name}_out", kinds[name], shapes[name]) for name in of.values]
        + [info("parts", kinds["t0"], [None, *shapes["t0"]])],
        constants,
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
