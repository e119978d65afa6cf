"""Non-maximum suppression of ONNX and OpenVINO, in NumPy."""

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
from .primitive_types import NoNativeKernel, RoutineCall
from .registry import inherit_attributes, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)
_EAGER = EagerPrimitives()


def _to_corners(p: P, boxes: T, scores: T, centred: bool) -> T:
    """Convert (y1, x1, y2, x2) in any order, or centered (x, y, width, height), to ordered corners."""
    if boxes.shape[2:] != (4,):
        raise _shape_error(boxes, scores)
    extents = (*boxes.shape[:2], 2)
    first, second = (p.slice(boxes, (0, 0, k), (1, 1, 1), extents) for k in (0, 2))
    if centred:
        half_size = p.map(np.divide, second, constant(p, 2, boxes.dtype))
        low, high = p.map(np.subtract, first, half_size), p.map(np.add, first, half_size)
    else:
        low, high = p.map(np.minimum, first, second), p.map(np.maximum, first, second)
    return p.assemble(boxes.shape, boxes.dtype, [(low, (0, 0, 0)), (high, (0, 0, 2))])


def _shape_error(boxes: T, scores: T) -> ValueError:
    return ValueError(f"boxes of shape {boxes.shape} do not fit scores of shape {scores.shape}")


def intersection_over_union(box: Array, others: Array, margin: float = 0.0, disjoint_zero: bool = True) -> Array:
    """Intersection over union of a box with others; ``margin`` is added to each side length (1: pixel coordinates).

    ``disjoint_zero``: boxes that are disjoint without the margin give 0.
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low + margin, 0), 1)
    if disjoint_zero and margin:
        shared = np.where((low > high).any(1), 0, shared)
    areas = np.prod(others[:, 2:] - others[:, :2] + margin, 1)
    area = np.prod(box[2:] - box[:2] + margin)
    union = area + areas - shared
    return np.where((area > 0) & (areas > 0) & (union > 0), shared / np.where(union == 0, 1, union), 0)


@record(frozen=True)
class NmsParameters:
    """Parameters of the suppression within a class."""

    max_boxes: int
    iou_threshold: float
    score_threshold: float
    soft_nms_sigma: float = 0.0
    #: An overlap equal to the threshold also suppresses.
    inclusive: bool = False

    def select(self, scores: Array, overlaps: Callable[[int, Array], Array]) -> tuple[list[int], list[float]]:
        """The selected boxes, best first, and their scores.

        With ``soft_nms_sigma``, an overlap lowers scores instead of suppressing.
        ``overlaps(k, others)``: the overlap of box k with each of the others.
        """
        order = np.flatnonzero(scores > self.score_threshold)
        order = order[np.argsort(-scores[order], kind="stable")]
        selected: list[int] = []
        if not self.soft_nms_sigma > 0:
            while len(order) and len(selected) < self.max_boxes:
                best = int(order[0])
                selected.append(best)
                shared = overlaps(best, order[1:])
                order = order[1:][shared < self.iou_threshold if self.inclusive else shared <= self.iou_threshold]
            return selected, [float(scores[k]) for k in selected]
        candidates = {int(k): scores[k] for k in order}
        best_scores: list[float] = []
        while candidates and len(selected) < self.max_boxes:
            best = max(candidates, key=lambda k: (candidates[k], -k))
            selected.append(best)
            best_scores.append(float(candidates.pop(best)))
            others = np.array(list(candidates), INT64)
            shared = overlaps(best, others)
            weights = np.exp(scores.dtype.type(-0.5 / self.soft_nms_sigma) * shared * shared)
            for k, weight in zip(others.tolist(), weights, strict=True):
                decayed = candidates[k] * weight.astype(scores.dtype)
                if decayed <= self.score_threshold:
                    del candidates[k]
                else:
                    candidates[k] = decayed
        return selected, best_scores


def _select_boxes(p: P, boxes: T, scores: T, nms: NmsParameters, margin: float = 0.0) -> T:
    """(batch, class, box) of the selected boxes by the native kernel."""
    dtype, (batches, classes, n) = scores.dtype, scores.shape
    if boxes.shape != (batches, n, 4):
        raise _shape_error(boxes, scores)
    limit = min(max(nms.max_boxes, 0), n)
    (rows,) = p.call(
        RoutineCall(
            "image.nms",
            (((batches * classes * limit, 3), INT64),),
            (batches, classes, n, limit, ord(dtype.char), int(nms.inclusive)),
            16 * (n + 1) + 5 * limit * dtype.itemsize,
            growing_axes=(0,),
        ),
        (boxes, scores, p.constant(np.array((nms.iou_threshold, nms.score_threshold, margin), dtype))),
    )
    return rows


def select_presorted(boxes: Array, threshold: float, limit: int, margin: float) -> Array:
    """Select among boxes sorted by score; ``margin`` as in :func:`intersection_over_union`."""
    ranks = -np.arange(len(boxes), dtype=boxes.dtype)
    return np.asarray(
        _select_boxes(_EAGER, boxes[None], ranks[None, None], NmsParameters(limit, threshold, -np.inf), margin)[:, 2]
    )


def _select_per_class(
    boxes: Array, scores: Array, nms: NmsParameters, overlaps: Callable[[Array, int, Array], Array] | None, ranked: bool
) -> tuple[Array, Array]:
    """(batch, class, box) of the selected boxes, and their scores; ``ranked``: sorted by score.
    ``overlaps``: None for boxes as corners."""
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2]:
        raise _shape_error(boxes, scores)
    if overlaps is None and not nms.soft_nms_sigma > 0 and _has_kernel(boxes, scores):
        indices = _select_boxes(_EAGER, boxes, scores, nms)
        best = scores[tuple(indices.T)]
    else:
        indices, best = _select_in_python(boxes, scores, nms, overlaps or _table_box_overlaps)
    if ranked:
        order = np.argsort(-best, kind="stable")
        indices, best = indices[order], best[order]
    return indices, best


def _select_in_python(
    boxes: Array, scores: Array, nms: NmsParameters, overlaps: Callable[[Array, int, Array], Array]
) -> tuple[Array, Array]:
    indices: list[tuple[int, int, int]] = []
    values: list[float] = []
    for batch, category in np.ndindex(*scores.shape[:2]):
        selected, best_scores = nms.select(scores[batch, category], partial(overlaps, boxes[batch]))
        indices += [(batch, category, k) for k in selected]
        values += best_scores
    return np.array(indices, INT64).reshape(-1, 3), np.array(values, scores.dtype)


def _has_kernel(boxes: T, scores: T) -> bool:
    return bool(boxes.dtype == scores.dtype and scores.dtype.char in "fd")


def _scalar_or_default(p: P, value: T | None, default: float) -> float:
    return default if value is None else float(p.value(value).reshape(-1)[0])


def _table_box_overlaps(table: Array, k: int, others: Array) -> Array:
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
    limit = int(_scalar_or_default(p, max_output_boxes_per_class, 0))
    nms = NmsParameters(limit, _scalar_or_default(p, iou_threshold, 0), _scalar_or_default(p, score_threshold, -np.inf))
    corners = _to_corners(p, boxes, scores, bool(center_point_box))
    if isinstance(corners, np.ndarray):
        return _select_per_class(corners, scores, nms, None, ranked=False)[0]
    if scores.ndim != 3 or not _has_kernel(corners, scores):
        raise NoNativeKernel
    return _select_boxes(p, corners, scores, nms)


def _openvino_nms(
    p: P,
    boxes: Array,
    scores: Array,
    limit: Array | None = None,
    threshold: Array | None = None,
    score_threshold: Array | None = None,
    sigma: Array | None = None,
    *,
    box_encoding: str = "corner",
    sort_result_descending: bool = True,
) -> tuple[Array, Array]:
    if box_encoding.lower() not in ("corner", "center"):
        raise unknown_value_error("box_encoding", box_encoding, ("corner", "center"))
    working = working_dtype(scores.dtype)
    nms = NmsParameters(
        int(_scalar_or_default(p, limit, 0)),
        _scalar_or_default(p, threshold, 0),
        _scalar_or_default(p, score_threshold, 0),
        _scalar_or_default(p, sigma, 0),
        inclusive=True,
    )
    corners = _to_corners(p, boxes.astype(working), scores, box_encoding.lower() == "center")
    return _select_per_class(corners, scores.astype(working), nms, None, sort_result_descending)


@openvino("NonMaxSuppression", native=False)
@inherit_attributes(_openvino_nms)
def openvino_nms_1(
    p: P,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    output_type: Dtype = INT64,
    **attributes: Any,
) -> Array:
    """Returns the selected rows (batch, class, box)."""
    limits = (max_output_boxes_per_class, iou_threshold, score_threshold)
    indices, _ = _openvino_nms(p, boxes, scores, *limits, **attributes)
    return indices.astype(output_type)


@openvino("NonMaxSuppression", since=5, native=False)
@inherit_attributes(_openvino_nms)
def openvino_nms_5(
    p: P,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    soft_nms_sigma: Array | None = None,
    *,
    output_type: Dtype = INT64,
    n_outputs: int = 3,
    **attributes: Any,
) -> Any:
    """Returns rows (batch, class, box), rows (batch, class, score), and the count."""
    limits = (max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma)
    indices, best = _openvino_nms(p, boxes, scores, *limits, **attributes)
    return _nms_outputs(indices, best, scores.dtype, output_type, n_outputs)


def _nms_outputs(indices: Array, best: Array, score_dtype: Dtype, index_dtype: Dtype, n_outputs: int) -> Any:
    rows = np.concatenate([indices[:, :2].astype(best.dtype), best[:, None]], 1).astype(score_dtype)
    return (indices.astype(index_dtype), rows, np.array([len(indices)], index_dtype))[:n_outputs]


# --- Rotated boxes


def _rotated_corners(boxes: Array) -> Array:
    """The corners ``[n, 4, 2]`` of boxes (x, y, width, height, angle), in cyclic order."""
    x, y, width, height, angle = (boxes[:, k].astype(np.float64) for k in range(5))
    cos, sin = np.cos(angle) / 2, np.sin(angle) / 2
    first = np.stack([x - sin * height - cos * width, y + cos * height - sin * width], 1)
    second = np.stack([x + sin * height - cos * width, y - cos * height - sin * width], 1)
    centre = np.stack([x, y], 1)
    return np.stack([first, second, 2 * centre - first, 2 * centre - second], 1)


def _intersection_area(polygon: Array, clip_polygon: Array) -> float:
    """The intersection area of two convex polygons (Sutherland-Hodgman clipping)."""

    def make_counterclockwise(shape: Array) -> Array:
        x, y = shape[:, 0], shape[:, 1]
        return shape if (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() >= 0 else shape[::-1]

    points = list(make_counterclockwise(polygon))
    edges = make_counterclockwise(clip_polygon)
    for start, end in zip(edges, np.roll(edges, -1, 0), strict=True):
        dist = [
            float((end[0] - start[0]) * (q[1] - start[1]) - (end[1] - start[1]) * (q[0] - start[0])) for q in points
        ]
        clipped: list[Array] = []
        for k, point in enumerate(points):
            next_point, d, next_d = (points[(k + 1) % len(points)], dist[k], dist[(k + 1) % len(points)])
            if d >= 0:
                clipped.append(point)
            if (d > 0 > next_d) or (d < 0 < next_d):
                clipped.append(point + (next_point - point) * (d / (d - next_d)))
        points = clipped
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
    """NonMaxSuppression-5 for boxes (x, y, width, height, angle)."""
    kind = output_type_attr if output_type is None else output_type
    oriented = boxes.astype(np.float64)
    oriented[..., 4] *= 1 if clockwise else -1

    def overlaps(table: Array, k: int, others: Array) -> Array:
        shapes = _rotated_corners(table)
        areas = table[:, 2] * table[:, 3]
        intersections = np.array([_intersection_area(shapes[k], shapes[other]) for other in others], np.float64)
        union = areas[k] + areas[others] - intersections
        return np.where(union > 0, intersections / np.where(union == 0, 1, union), 0)

    nms = NmsParameters(
        int(_scalar_or_default(p, max_output_boxes_per_class, 0)),
        _scalar_or_default(p, iou_threshold, 0),
        _scalar_or_default(p, score_threshold, 0),
        inclusive=True,
    )
    working = working_dtype(scores.dtype)
    indices, best = _select_per_class(oriented, scores.astype(working), nms, overlaps, sort_result_descending)
    return _nms_outputs(indices, best, scores.dtype, kind, n_outputs)


# --- Multi-class suppression


@record(frozen=True)
class ImageDetections:
    """Detections of one image, one entry per box: class, score, box index and corners."""

    classes: Array
    scores: Array
    boxes: Array
    corners: Array

    def reorder(self, order: Array) -> ImageDetections:
        return ImageDetections(self.classes[order], self.scores[order], self.boxes[order], self.corners[order])


def _concat_results(parts: Sequence[ImageDetections], score_dtype: Dtype) -> ImageDetections:
    no_indices = np.zeros(0, INT64)
    empty = ImageDetections(no_indices, np.zeros(0, score_dtype), no_indices, np.zeros((0, 4), score_dtype))
    return ImageDetections(
        *(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in empty.__dataclass_fields__)
    )


@record(frozen=True)
class MultiClassAttributes:
    """The common attributes of MatrixNms and MulticlassNms."""

    sort_result_type: str = "none"
    sort_result_across_batch: bool = False
    output_type: Dtype = INT64
    score_threshold: float = 0.0
    nms_top_k: int = -1
    keep_top_k: int = -1
    background_class: int = -1
    normalized: bool = True

    def best_candidates(self, order: Array, scores: Array) -> Array:
        """The best of a class's boxes, best first."""
        order = order[np.argsort(-scores[order], kind="stable")]
        return order[: self.nms_top_k] if self.nms_top_k > -1 else order

    def best_detections(self, parts: Sequence[ImageDetections], score_dtype: Dtype) -> ImageDetections:
        """The best detections of an image, best first."""
        detections = _concat_results(parts, score_dtype)
        order = np.lexsort((detections.boxes, detections.classes, -detections.scores))
        return detections.reorder(order[: self.keep_top_k] if self.keep_top_k > -1 else order)


def _detection_rows(
    images: Sequence[ImageDetections],
    offsets: Sequence[Array],
    attrs: MultiClassAttributes,
    dtype: Dtype,
    n_outputs: int,
) -> Any:
    """Rows (class, score, corners), the flat index of each box, and the count per image."""
    order_by, kind = attrs.sort_result_type.lower(), attrs.output_type
    if order_by not in ("none", "score", "classid"):
        raise unknown_value_error("sort_result_type", order_by, ("none", "score", "classid"))
    combined = _concat_results(images, dtype if dtype.itemsize >= 4 else np.dtype(np.float32))
    batch = np.repeat(np.arange(len(images)), [len(detections.boxes) for detections in images])
    flat_indices = np.concatenate([np.zeros(0, INT64), *offsets])
    if attrs.sort_result_across_batch and order_by != "none":
        keys = (combined.boxes, combined.classes, batch, -combined.scores)
        if order_by == "classid":
            keys = (combined.boxes, -combined.scores, batch, combined.classes)
        order = np.lexsort(keys)
        combined, flat_indices = combined.reorder(order), flat_indices[order]
    rows = np.concatenate([combined.classes[:, None], combined.scores[:, None], combined.corners], 1).astype(dtype)
    counts = np.array([len(detections.boxes) for detections in images], kind)
    return (rows, flat_indices[:, None].astype(kind), counts)[:n_outputs]


@openvino("MatrixNms", since=8, native=False)
@inherit_attributes(MultiClassAttributes)
def matrix_nms(
    p: P,
    boxes: Array,
    scores: Array,
    *,
    decay_function: str = "linear",
    gaussian_sigma: float = 2.0,
    post_threshold: float = 0.0,
    n_outputs: int = 3,
    **attributes: Any,
) -> Any:
    """Scores decay with the overlap of better boxes; nothing is suppressed.

    Sorting by class applies only across batches; within a batch, boxes are sorted by score, as in OpenVINO.
    """
    if decay_function.lower() not in ("linear", "gaussian"):
        raise unknown_value_error("decay_function", decay_function, ("linear", "gaussian"))
    attrs = MultiClassAttributes(**attributes)
    working = working_dtype(scores.dtype)
    margin = 0.0 if attrs.normalized else 1.0
    images, flat = [], []
    for batch, table in enumerate(boxes.astype(working)):
        parts = []
        for category, values in enumerate(scores[batch].astype(working)):
            if category == attrs.background_class:
                continue
            order = attrs.best_candidates(np.flatnonzero(values > attrs.score_threshold), values)
            if not len(order):
                continue
            shared = np.array([intersection_over_union(table[k], table[order], margin) for k in order], working)
            shared = np.tril(shared, -1)  # row k: overlap with better boxes
            max_overlap = shared.max(1)
            if decay_function.lower() == "gaussian":
                decay = np.exp((max_overlap**2 - shared**2) * working.type(gaussian_sigma))
            else:
                decay = (1 - shared) / (1 - max_overlap + working.type(1e-10))
            decay = np.where(np.tri(len(order), k=-1, dtype=bool), decay, 1)
            decayed = values[order] * decay.min(1).clip(max=1)
            keep = decayed > post_threshold
            order = order[keep]
            parts.append(ImageDetections(np.full(len(order), category), decayed[keep], order, table[order]))
        images.append(attrs.best_detections(parts, working))
        flat.append(batch * len(table) + images[-1].boxes)
    return _detection_rows(images, flat, attrs, scores.dtype, n_outputs)


@openvino("MulticlassNms", since=8, native=False)
@inherit_attributes(MultiClassAttributes)
def multiclass_nms(
    p: P,
    boxes: Array,
    scores: Array,
    roisnum: Array | None = None,
    *,
    iou_threshold: float = 0.0,
    nms_eta: float = 1.0,
    n_outputs: int = 3,
    **attributes: Any,
) -> Any:
    """Boxes ``[N, M, 4]`` shared by classes, or ``[C, sum(M), 4]`` per class with counts per image in ``roisnum``."""
    attrs = MultiClassAttributes(**attributes)
    working = working_dtype(scores.dtype)
    shared = scores.ndim == 3
    if not shared and roisnum is None:
        raise ModelError("scores without a batch axis need the input roisnum", name="roisnum")
    tables, values = boxes.astype(working), scores.astype(working)
    counts = [] if roisnum is None else [int(n) for n in roisnum.reshape(-1)]
    starts = np.cumsum([0, *counts])
    images, flat = [], []
    for batch in range(len(values) if shared else len(counts)):
        box_range = slice(starts[batch], starts[batch + 1]) if not shared else slice(None)
        rows = values[batch] if shared else values[:, box_range]
        parts = []
        for category, row in enumerate(rows):
            if category == attrs.background_class:
                continue
            table = tables[batch] if shared else tables[category, box_range]
            selected = _select_class_boxes(row, table, attrs, iou_threshold, nms_eta)
            parts.append(ImageDetections(np.full(len(selected), category), row[selected], selected, table[selected]))
        detections = attrs.best_detections(parts, working)
        if not attrs.sort_result_across_batch and attrs.sort_result_type.lower() == "classid":
            detections = detections.reorder(np.lexsort((detections.boxes, -detections.scores, detections.classes)))
        images.append(detections)
        flat_index = batch * tables.shape[1] + detections.boxes
        flat.append(flat_index if shared else (starts[batch] + detections.boxes) * len(tables) + detections.classes)
    return _detection_rows(images, flat, attrs, scores.dtype, n_outputs)


def _select_class_boxes(
    scores: Array, table: Array, attrs: MultiClassAttributes, threshold: float, eta: float
) -> Array:
    """The selected boxes of a class, best first; ``eta`` below 1 lowers the threshold with each."""
    order = attrs.best_candidates(np.flatnonzero(scores >= attrs.score_threshold), scores)
    margin = 0.0 if attrs.normalized else 1.0
    picks: list[int] = []
    for k in order.tolist():
        if (
            len(picks)
            and (intersection_over_union(table[k], table[picks], margin, disjoint_zero=False) >= threshold).any()
        ):
            continue
        picks.append(k)
        if eta < 1 and threshold > 0.5:
            threshold *= eta
    return np.array(picks, INT64)
