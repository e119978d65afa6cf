"""Boxes that overlap, and which of them stay: the non-maximum suppressions of both systems, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from ..record import record
from .axis_arguments import unknown_value_error
from .eager import EagerPrimitives
from .operator_helpers import Dtype, constant, working_dtype
from .primitives import NoNativeKernel, RoutineCall
from .registry import onnx, openvino

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)
_EAGER = EagerPrimitives()


def _corners(p: P, boxes: T, scores: T, centred: bool) -> T:
    """(y1, x1, y2, x2) in any order of corners, or (x, y, width, height) around a centre, as ordered corners."""
    if boxes.shape[2:] != (4,):
        raise _shape_error(boxes, scores)
    extents = (*boxes.shape[:2], 2)
    first, second = (p.slice(boxes, (0, 0, k), (1, 1, 1), extents) for k in (0, 2))
    if centred:
        half = p.map(np.divide, second, constant(p, 2, boxes.dtype))
        low, high = p.map(np.subtract, first, half), p.map(np.add, first, half)
    else:
        low, high = p.map(np.minimum, first, second), p.map(np.maximum, first, second)
    return p.assemble(boxes.shape, boxes.dtype, [(low, (0, 0, 0)), (high, (0, 0, 2))])


def _shape_error(boxes: T, scores: T) -> ValueError:
    return ValueError(f"boxes of shape {boxes.shape} do not fit scores of shape {scores.shape}")


def intersection_over_union(box: Array, others: Array, more: float = 0.0, apart: bool = True) -> Array:
    """How much of their union a box and others share; ``more`` is added to each side (1: whole pixels).

    ``apart``: boxes that do not meet share nothing, even if ``more`` makes them.
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low + more, 0), 1)
    if apart and more:
        shared = np.where((low > high).any(1), 0, shared)
    areas = np.prod(others[:, 2:] - others[:, :2] + more, 1)
    own = np.prod(box[2:] - box[:2] + more)
    union = own + areas - shared
    return np.where((own > 0) & (areas > 0) & (union > 0), shared / np.where(union == 0, 1, union), 0)


@record(frozen=True)
class NmsParameters:
    """What a suppression of one class goes by."""

    max_boxes: int
    iou_threshold: float
    score_threshold: float
    soft_nms_sigma: float = 0.0
    #: An overlap of exactly the threshold suppresses too.
    inclusive: bool = False

    def select(self, scores: Array, overlaps: Callable[[int, Array], Array]) -> tuple[list[int], list[float]]:
        """The boxes that stay, best first, and their scores.

        Where ``sigma`` is given, an overlap lowers scores instead of suppressing.

        ``overlaps(k, others)``: how much box k shares with each of the others.
        """
        order = np.flatnonzero(scores > self.score_threshold)
        order = order[np.argsort(-scores[order], kind="stable")]
        kept: list[int] = []
        if not self.soft_nms_sigma > 0:
            while len(order) and len(kept) < self.max_boxes:
                best = int(order[0])
                kept.append(best)
                shared = overlaps(best, order[1:])
                order = order[1:][shared < self.iou_threshold if self.inclusive else shared <= self.iou_threshold]
            return kept, [float(scores[k]) for k in kept]
        left = {int(k): scores[k] for k in order}
        chosen: list[float] = []
        while left and len(kept) < self.max_boxes:
            best = max(left, key=lambda k: (left[k], -k))
            kept.append(best)
            chosen.append(float(left.pop(best)))
            others = np.array(list(left), INT64)
            shared = overlaps(best, others)
            weights = np.exp(scores.dtype.type(-0.5 / self.soft_nms_sigma) * shared * shared)
            for k, weight in zip(others.tolist(), weights, strict=True):
                lowered = left[k] * weight.astype(scores.dtype)
                if lowered <= self.score_threshold:
                    del left[k]
                else:
                    left[k] = lowered
        return kept, chosen


def _select_boxes(p: P, boxes: T, scores: T, how: NmsParameters, more: float = 0.0) -> T:
    """(batch, class, box) of all that stay: what ``select`` gives with :func:`overlap`."""
    kind, (batches, classes, n) = scores.dtype, scores.shape
    if boxes.shape != (batches, n, 4):
        raise _shape_error(boxes, scores)
    most = min(max(how.max_boxes, 0), n)
    (rows,) = p.call(
        RoutineCall(
            "nms.select",
            (((batches * classes * most, 3), INT64),),
            (batches, classes, n, most, ord(kind.char), int(how.inclusive)),
            16 * (n + 1) + 5 * most * kind.itemsize,
            growing_axes=(0,),
        ),
        (boxes, scores, p.constant(np.array((how.iou_threshold, how.score_threshold, more), kind))),
    )
    return rows


def select_presorted(boxes: Array, threshold: float, most: int, more: float) -> Array:
    """Which boxes stay, of those that are sorted by score; ``more`` is that of :func:`overlap`."""
    ranks = -np.arange(len(boxes), dtype=boxes.dtype)
    return np.asarray(
        _select_boxes(_EAGER, boxes[None], ranks[None, None], NmsParameters(most, threshold, -np.inf), more)[:, 2]
    )


def _select_per_class(
    boxes: Array, scores: Array, how: NmsParameters, overlaps: Callable[[Array, int, Array], Array] | None, ranked: bool
) -> tuple[Array, Array]:
    """(batch, class, box) of all that stay, and their scores; ``ranked``: the best of all first.

    ``overlaps``: None is that of corners."""
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2]:
        raise _shape_error(boxes, scores)
    if overlaps is None and not how.soft_nms_sigma > 0 and _has_kernel(boxes, scores):
        indices = _select_boxes(_EAGER, boxes, scores, how)
        best = scores[tuple(indices.T)]
    else:
        indices, best = _select_in_python(boxes, scores, how, overlaps or _table_overlap)
    if ranked:
        order = np.argsort(-best, kind="stable")
        indices, best = indices[order], best[order]
    return indices, best


def _select_in_python(
    boxes: Array, scores: Array, how: NmsParameters, overlaps: Callable[[Array, int, Array], Array]
) -> tuple[Array, Array]:
    found: list[tuple[int, int, int]] = []
    values: list[float] = []
    for batch, category in np.ndindex(*scores.shape[:2]):
        kept, chosen = how.select(scores[batch, category], partial(overlaps, boxes[batch]))
        found += [(batch, category, k) for k in kept]
        values += chosen
    return np.array(found, INT64).reshape(-1, 3), np.array(values, scores.dtype)


def _has_kernel(boxes: T, scores: T) -> bool:
    return bool(boxes.dtype == scores.dtype and scores.dtype.char in "fd")


def _scalar_or_default(p: P, value: T | None, otherwise: float) -> float:
    return otherwise if value is None else float(p.value(value).reshape(-1)[0])


def _table_overlap(table: Array, k: int, others: Array) -> Array:
    return intersection_over_union(table[k], table[others])


@onnx("NonMaxSuppression", since=10)
def non_max_suppression(
    p: P,
    boxes: T,
    scores: T,
    max_output_boxes_per_class: T | None = None,
    iou_threshold: T | None = None,
    score_threshold: T | None = None,
    *,
    center_point_box: int = 0,
) -> T:
    most = int(_scalar_or_default(p, max_output_boxes_per_class, 0))
    how = NmsParameters(most, _scalar_or_default(p, iou_threshold, 0), _scalar_or_default(p, score_threshold, -np.inf))
    corners = _corners(p, boxes, scores, bool(center_point_box))
    if isinstance(corners, np.ndarray):
        return _select_per_class(corners, scores, how, None, ranked=False)[0]
    if scores.ndim != 3 or not _has_kernel(corners, scores):
        raise NoNativeKernel
    return _select_boxes(p, corners, scores, how)


def _openvino_nms(
    p: P,
    boxes: Array,
    scores: Array,
    most: Array | None,
    threshold: Array | None,
    score_threshold: Array | None,
    sigma: Array | None,
    box_encoding: str,
    ranked: bool,
) -> tuple[Array, Array]:
    if box_encoding.lower() not in ("corner", "center"):
        raise unknown_value_error("box_encoding", box_encoding, ("corner", "center"))
    wide = working_dtype(scores.dtype)
    how = NmsParameters(
        int(_scalar_or_default(p, most, 0)),
        _scalar_or_default(p, threshold, 0),
        _scalar_or_default(p, score_threshold, 0),
        _scalar_or_default(p, sigma, 0),
        inclusive=True,
    )
    corners = _corners(p, boxes.astype(wide), scores, box_encoding.lower() == "center")
    return _select_per_class(corners, scores.astype(wide), how, None, ranked)


@openvino("NonMaxSuppression", native=False)
def openvino_nms_1(
    p: P,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    box_encoding: str = "corner",
    sort_result_descending: bool = True,
    output_type: Dtype = INT64,
) -> Array:
    """As many rows as there may be; those that are not used hold -1."""
    indices, _ = _openvino_nms(
        p,
        boxes,
        scores,
        max_output_boxes_per_class,
        iou_threshold,
        score_threshold,
        None,
        box_encoding,
        sort_result_descending,
    )
    return indices.astype(output_type)


@openvino("NonMaxSuppression", since=5, native=False)
def openvino_nms_5(
    p: P,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    soft_nms_sigma: Array | None = None,
    *,
    box_encoding: str = "corner",
    sort_result_descending: bool = True,
    output_type: Dtype = INT64,
    n_outputs: int = 3,
) -> Any:
    """Rows (batch, class, box), rows (batch, class, score), and how many."""
    indices, best = _openvino_nms(
        p,
        boxes,
        scores,
        max_output_boxes_per_class,
        iou_threshold,
        score_threshold,
        soft_nms_sigma,
        box_encoding,
        sort_result_descending,
    )
    rows = np.concatenate([indices[:, :2].astype(best.dtype), best[:, None]], 1).astype(scores.dtype)
    count = np.array([len(indices)], output_type)
    return (indices.astype(output_type), rows, count)[:n_outputs]


# --- Rotated boxes


def _rotated_corners(boxes: Array) -> Array:
    """(x, y, width, height, angle) as ``[n, 4, 2]``, going around."""
    x, y, width, height, angle = (boxes[:, k].astype(np.float64) for k in range(5))
    cos, sin = np.cos(angle) / 2, np.sin(angle) / 2
    first = np.stack([x - sin * height - cos * width, y + cos * height - sin * width], 1)
    second = np.stack([x + sin * height - cos * width, y - cos * height - sin * width], 1)
    centre = np.stack([x, y], 1)
    return np.stack([first, second, 2 * centre - first, 2 * centre - second], 1)


def _intersection_area(one: Array, other: Array) -> float:
    """What two convex polygons share: the first one cut by each side of the second (Sutherland and Hodgman)."""

    def turn(shape: Array) -> Array:
        x, y = shape[:, 0], shape[:, 1]
        return shape if (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() >= 0 else shape[::-1]

    points = list(turn(one))
    edges = turn(other)
    for start, end in zip(edges, np.roll(edges, -1, 0), strict=True):
        side = [
            float((end[0] - start[0]) * (q[1] - start[1]) - (end[1] - start[1]) * (q[0] - start[0])) for q in points
        ]
        cut: list[Array] = []
        for k, point in enumerate(points):
            after, here, there = points[(k + 1) % len(points)], side[k], side[(k + 1) % len(points)]
            if here >= 0:
                cut.append(point)
            if (here > 0 > there) or (here < 0 < there):
                cut.append(point + (after - point) * (here / (here - there)))
        points = cut
        if len(points) < 3:
            return 0.0
    shape = np.array(points)
    x, y = shape[:, 0], shape[:, 1]
    return abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2


@openvino("NMSRotated", since=13, native=False)
def nms_rotated(
    p: P,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    sort_result_descending: bool = True,
    output_type_attr: Dtype = INT64,
    output_type: Dtype | None = None,
    clockwise: bool = True,
    n_outputs: int = 3,
) -> Any:
    """As NonMaxSuppression-5, for boxes (x, y, width, height, angle)."""
    kind = output_type_attr if output_type is None else output_type
    turned = boxes.astype(np.float64)
    turned[..., 4] *= 1 if clockwise else -1

    def shared(table: Array, k: int, others: Array) -> Array:
        shapes = _rotated_corners(table)
        areas = table[:, 2] * table[:, 3]
        found = np.array([_intersection_area(shapes[k], shapes[other]) for other in others], np.float64)
        union = areas[k] + areas[others] - found
        return np.where(union > 0, found / np.where(union == 0, 1, union), 0)

    how = NmsParameters(
        int(_scalar_or_default(p, max_output_boxes_per_class, 0)),
        _scalar_or_default(p, iou_threshold, 0),
        _scalar_or_default(p, score_threshold, 0),
        inclusive=True,
    )
    wide = working_dtype(scores.dtype)
    indices, best = _select_per_class(turned, scores.astype(wide), how, shared, sort_result_descending)
    rows = np.concatenate([indices[:, :2].astype(best.dtype), best[:, None]], 1).astype(scores.dtype)
    return (indices.astype(kind), rows, np.array([len(indices)], kind))[:n_outputs]


# --- Many classes at once


@record(frozen=True)
class ImageDetections:
    """What one image gave, one entry a box: class, score, which box, and its corners."""

    classes: Array
    scores: Array
    boxes: Array
    corners: Array

    def reorder(self, order: Array) -> ImageDetections:
        return ImageDetections(self.classes[order], self.scores[order], self.boxes[order], self.corners[order])


def _concat_results(parts: Sequence[ImageDetections], wide: Dtype) -> ImageDetections:
    none = np.zeros(0, INT64)
    empty = ImageDetections(none, np.zeros(0, wide), none, np.zeros((0, 4), wide))
    return ImageDetections(
        *(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in empty.__dataclass_fields__)
    )


def _detection_rows(
    images: Sequence[ImageDetections],
    offsets: Sequence[Array],
    across: bool,
    order_by: str,
    dtype: Dtype,
    kind: Dtype,
    n_outputs: int,
) -> Any:
    """Rows (class, score, corners), the flat index of each box, and how many each image has."""
    if order_by not in ("none", "score", "classid"):
        raise unknown_value_error("sort_result_type", order_by, ("none", "score", "classid"))
    whole = _concat_results(images, dtype if dtype.itemsize >= 4 else np.dtype(np.float32))
    batch = np.repeat(np.arange(len(images)), [len(found.boxes) for found in images])
    flat = np.concatenate([np.zeros(0, INT64), *offsets])
    if across and order_by != "none":
        keys = (whole.boxes, whole.classes, batch, -whole.scores)
        if order_by == "classid":
            keys = (whole.boxes, -whole.scores, batch, whole.classes)
        order = np.lexsort(keys)
        whole, flat = whole.reorder(order), flat[order]
    rows = np.concatenate([whole.classes[:, None], whole.scores[:, None], whole.corners], 1).astype(dtype)
    counts = np.array([len(found.boxes) for found in images], kind)
    return (rows, flat[:, None].astype(kind), counts)[:n_outputs]


@openvino("MatrixNms", since=8, native=False)
def matrix_nms(
    p: P,
    boxes: Array,
    scores: Array,
    *,
    sort_result_type: str = "none",
    sort_result_across_batch: bool = False,
    output_type: Dtype = INT64,
    score_threshold: float = 0.0,
    nms_top_k: int = -1,
    keep_top_k: int = -1,
    background_class: int = -1,
    decay_function: str = "linear",
    gaussian_sigma: float = 2.0,
    post_threshold: float = 0.0,
    normalized: bool = True,
    n_outputs: int = 3,
) -> Any:
    """Nothing is suppressed: scores decay by how much better boxes overlap.

    Only across batches are boxes sorted by class; within one they are by score, as in both of OpenVINO's.
    """
    if decay_function.lower() not in ("linear", "gaussian"):
        raise unknown_value_error("decay_function", decay_function, ("linear", "gaussian"))
    wide = working_dtype(scores.dtype)
    more = 0.0 if normalized else 1.0
    images, flat = [], []
    for batch, table in enumerate(boxes.astype(wide)):
        parts = []
        for category, values in enumerate(scores[batch].astype(wide)):
            if category == background_class:
                continue
            order = np.flatnonzero(values > score_threshold)
            order = order[np.argsort(-values[order], kind="stable")]
            order = order[:nms_top_k] if nms_top_k > -1 else order
            if not len(order):
                continue
            shared = np.array([intersection_over_union(table[k], table[order], more) for k in order], wide)
            shared = np.tril(shared, -1)  # row k: with those that are better
            most = shared.max(1)
            if decay_function.lower() == "gaussian":
                decay = np.exp((most**2 - shared**2) * wide.type(gaussian_sigma))
            else:
                decay = (1 - shared) / (1 - most + wide.type(1e-10))
            decay = np.where(np.tri(len(order), k=-1, dtype=bool), decay, 1)
            decayed = values[order] * decay.min(1).clip(max=1)
            kept = decayed > post_threshold
            order = order[kept]
            parts.append(ImageDetections(np.full(len(order), category), decayed[kept], order, table[order]))
        found = _concat_results(parts, wide)
        order = np.lexsort((found.boxes, found.classes, -found.scores))
        found = found.reorder(order[:keep_top_k] if keep_top_k > -1 else order)
        images.append(found)
        flat.append(batch * len(table) + found.boxes)
    across, by = sort_result_across_batch, sort_result_type.lower()
    return _detection_rows(images, flat, across, by, scores.dtype, output_type, n_outputs)


@openvino("MulticlassNms", since=8, native=False)
def multiclass_nms(
    p: P,
    boxes: Array,
    scores: Array,
    roisnum: Array | None = None,
    *,
    sort_result_type: str = "none",
    sort_result_across_batch: bool = False,
    output_type: Dtype = INT64,
    iou_threshold: float = 0.0,
    score_threshold: float = 0.0,
    nms_top_k: int = -1,
    keep_top_k: int = -1,
    background_class: int = -1,
    normalized: bool = True,
    nms_eta: float = 1.0,
    n_outputs: int = 3,
) -> Any:
    """Boxes ``[N, M, 4]`` for all classes, or ``[C, sum(M), 4]`` for each, where ``roisnum`` tells whose they are."""
    wide = working_dtype(scores.dtype)
    more = 0.0 if normalized else 1.0
    shared = scores.ndim == 3
    if not shared and roisnum is None:
        raise ModelError("scores without a batch axis need the input roisnum")
    tables, values = boxes.astype(wide), scores.astype(wide)
    counts = [] if roisnum is None else [int(n) for n in roisnum.reshape(-1)]
    starts = np.cumsum([0, *counts])
    images, flat = [], []
    for batch in range(len(values) if shared else len(counts)):
        own = slice(starts[batch], starts[batch + 1]) if not shared else slice(None)
        rows = values[batch] if shared else values[:, own]
        parts = []
        for category, row in enumerate(rows):
            if category == background_class:
                continue
            table = tables[batch] if shared else tables[category, own]
            kept = _select_class_boxes(row, table, more, score_threshold, iou_threshold, nms_top_k, nms_eta)
            parts.append(ImageDetections(np.full(len(kept), category), row[kept], kept, table[kept]))
        found = _concat_results(parts, wide)
        order = np.lexsort((found.boxes, found.classes, -found.scores))
        found = found.reorder(order[:keep_top_k] if keep_top_k > -1 else order)
        if not sort_result_across_batch and sort_result_type.lower() == "classid":
            found = found.reorder(np.lexsort((found.boxes, -found.scores, found.classes)))
        images.append(found)
        whole = batch * tables.shape[1] + found.boxes
        flat.append(whole if shared else (starts[batch] + found.boxes) * len(tables) + found.classes)
    across, by = sort_result_across_batch, sort_result_type.lower()
    return _detection_rows(images, flat, across, by, scores.dtype, output_type, n_outputs)


def _select_class_boxes(
    scores: Array, table: Array, more: float, least: float, threshold: float, most: int, eta: float
) -> Array:
    """The boxes of one class that stay, best first; ``eta`` below 1 lowers the threshold with each of them."""
    order = np.flatnonzero(scores >= least)
    order = order[np.argsort(-scores[order], kind="stable")]
    order = order[:most] if most > -1 else order
    kept: list[int] = []
    for k in order.tolist():
        if len(kept) and (intersection_over_union(table[k], table[kept], more, apart=False) >= threshold).any():
            continue
        kept.append(k)
        if eta < 1 and threshold > 0.5:
            threshold *= eta
    return np.array(kept, INT64)
