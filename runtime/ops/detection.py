"""Object detection heads of OpenVINO, in NumPy: prior boxes, proposals and what is reported of them.

Where a specification leaves the order of equal scores open, the box that comes first wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axes import ints, unknown_word
from .boxes import Suppression, overlap
from .registry import Floats, Ints, openvino
from .sampling import _averaged, _pool, _roi_align
from .support import Dtype, working_dtype

P = Any
INT64 = np.dtype(np.int64)
_F32 = np.float32


# --- Prior boxes


def _priors(boxes: Array, variance: Sequence[float]) -> Array:
    """``[2, numbers]``: the corners of all boxes, and as many variances."""
    if len(variance) not in (0, 1, 4):
        raise ModelError(f"{len(variance)} variances; a prior box has none, one or four")
    corners = boxes.reshape(-1)
    spread = np.resize(np.array(variance or (0.1,), _F32), corners.shape)
    return np.stack([corners.astype(_F32), spread])


def _two(p: P, sizes: Array) -> tuple[int, int]:
    numbers = ints(p, sizes)
    if len(numbers) != 2:
        raise ValueError(f"a height and a width are needed, not {list(numbers)}")
    return numbers[0], numbers[1]


def _prior_box(
    p: P,
    layer: Array,
    image: Array,
    *,
    min_size: Floats,
    max_size: Floats,
    aspect_ratio: Floats,
    density: Floats,
    fixed_ratio: Floats,
    fixed_size: Floats,
    clip: bool,
    flip: bool,
    step: float,
    offset: float,
    variance: Floats,
    scale_all_sizes: bool,
    ordered: bool,
) -> Array:
    (height, width), (image_height, image_width) = _two(p, layer), _two(p, image)
    ratios = [_F32(1)]
    for ratio in aspect_ratio:
        if all(abs(ratio - known) >= 1e-6 for known in ratios):
            ratios += [_F32(ratio), 1 / _F32(ratio)] if flip else [_F32(ratio)]
    sizes = [_F32(size) for size in min_size]
    apart = _F32(step)
    if not scale_all_sizes:
        apart = _F32(image_height) / _F32(height) if step == -1 else apart * _F32(image_height)
        sizes = [size * _F32(image_height) for size in sizes]
    shapes: list[tuple[Any, Any, Any, Any, bool]] = []  # moved by x and y, half width and height, cut off
    for k, fixed in enumerate(fixed_size):
        many = int(density[k]) if density else 0
        shift = int(fixed / many) if many else 0
        moves = [_F32(-(int(fixed) // 2) + shift / 2 + n * shift) for n in range(many)]
        sides: list[tuple[Any, Any]] = []  # half width and height
        if not fixed_ratio and density:
            sides.append((_F32(int(fixed)) * _F32(0.5),) * 2)
        for root in np.sqrt([_F32(r) for r in fixed_ratio] or [r for r in ratios if abs(r - 1) >= 1e-6]):
            sides.append((_F32(fixed) * _F32(0.5) * root, _F32(fixed) * _F32(0.5) / root))
        shapes += [(x, y, *side, True) for side in sides for y in moves for x in moves]
    for k, own in enumerate(sizes):
        half = own * _F32(0.5)
        shapes.append((0, 0, half, half, False))
        largest = []
        if k < len(max_size) and scale_all_sizes:
            side = np.sqrt(own * _F32(max_size[k])) * _F32(0.5)
            largest = [(0, 0, side, side, False)]
        others = []
        if scale_all_sizes or k == len(sizes) - 1:
            base = (own if scale_all_sizes else sizes[0]) * _F32(0.5)
            roots = [np.sqrt(r) for r in ratios if abs(r - 1) >= 1e-6]
            others = [(0, 0, base * root, base / root, False) for root in roots]
        shapes += largest + others if ordered else others + largest
    row, column = np.arange(height, dtype=_F32), np.arange(width, dtype=_F32)
    if apart == 0:
        y, x = (row + _F32(0.5)) * _F32(image_height / height), (column + _F32(0.5)) * _F32(image_width / width)
    else:
        y, x = (row + _F32(offset)) * apart, (column + _F32(offset)) * apart
    boxes = np.empty((height, width, len(shapes), 4), _F32)
    for k, (dx, dy, half_x, half_y, cut) in enumerate(shapes):
        at_x, at_y = (x + dx)[None, :], (y + dy)[:, None]
        for j, (at, scale) in enumerate(
            (
                (at_x - half_x, image_width),
                (at_y - half_y, image_height),
                (at_x + half_x, image_width),
                (at_y + half_y, image_height),
            )
        ):
            value = at * (_F32(1) / _F32(scale))
            if cut:
                value = np.maximum(value, 0) if j < 2 else np.minimum(value, 1)
            boxes[:, :, k, j] = value
    return _priors(boxes.clip(0, 1) if clip else boxes, variance)


@openvino("PriorBox", native=False)
def prior_box_1(
    p: P,
    layer: Array,
    image: Array,
    *,
    min_size: Floats = (),
    max_size: Floats = (),
    aspect_ratio: Floats = (),
    density: Floats = (),
    fixed_ratio: Floats = (),
    fixed_size: Floats = (),
    clip: bool = False,
    flip: bool = False,
    step: float = 0.0,
    offset: float,
    variance: Floats = (),
    scale_all_sizes: bool = True,
) -> Any:
    return prior_box(
        p,
        layer,
        image,
        min_size=min_size,
        max_size=max_size,
        aspect_ratio=aspect_ratio,
        density=density,
        fixed_ratio=fixed_ratio,
        fixed_size=fixed_size,
        clip=clip,
        flip=flip,
        step=step,
        offset=offset,
        variance=variance,
        scale_all_sizes=scale_all_sizes,
    )


@openvino("PriorBox", since=8, native=False)
def prior_box(
    p: P,
    layer: Array,
    image: Array,
    *,
    min_size: Floats = (),
    max_size: Floats = (),
    aspect_ratio: Floats = (),
    density: Floats = (),
    fixed_ratio: Floats = (),
    fixed_size: Floats = (),
    clip: bool = False,
    flip: bool = False,
    step: float = 0.0,
    offset: float,
    variance: Floats = (),
    scale_all_sizes: bool = True,
    min_max_aspect_ratios_order: bool = True,
) -> Array:
    """Boxes of all sizes and ratios around the middle of each cell of a layer, as parts of the image."""
    return _prior_box(
        p,
        layer,
        image,
        min_size=min_size,
        max_size=max_size,
        aspect_ratio=aspect_ratio,
        density=density,
        fixed_ratio=fixed_ratio,
        fixed_size=fixed_size,
        clip=clip,
        flip=flip,
        step=step,
        offset=offset,
        variance=variance,
        scale_all_sizes=scale_all_sizes,
        ordered=min_max_aspect_ratios_order,
    )


@openvino("PriorBoxClustered", native=False)
def prior_box_clustered(
    p: P,
    layer: Array,
    image: Array,
    *,
    width: Floats,
    height: Floats,
    clip: bool = False,
    step: float = 0.0,
    step_w: float = 0.0,
    step_h: float = 0.0,
    offset: float,
    variance: Floats = (),
) -> Array:
    (rows, columns), (image_height, image_width) = _two(p, layer), _two(p, image)
    by_x, by_y = _F32(step_w or step), _F32(step_h or step)
    if not by_x and not by_y:
        by_x, by_y = _F32(image_width / columns), _F32(image_height / rows)
    x = ((np.arange(columns, dtype=_F32) + _F32(offset)) * by_x)[None, :, None]
    y = ((np.arange(rows, dtype=_F32) + _F32(offset)) * by_y)[:, None, None]
    half_x, half_y = np.array(width, _F32) / 2, np.array(height, _F32) / 2
    shape = (rows, columns, len(width))
    parts = (
        (x - half_x) / _F32(image_width),
        (y - half_y) / _F32(image_height),
        (x + half_x) / _F32(image_width),
        (y + half_y) / _F32(image_height),
    )
    boxes = np.stack([np.broadcast_to(part, shape) for part in parts], -1)
    return _priors(boxes.clip(0, 1) if clip else boxes, variance)


# --- Proposals


def _moved(anchors: Array, deltas: Array, more: float, most: float = math.inf) -> Array:
    """Boxes moved and stretched: the centre by (dx, dy) sizes, the sides by factors of exp(dw), exp(dh).

    Returned: (centre - half, centre + half); ``more``: what a side is longer than its corners say.
    """
    sides = anchors[..., 2:] - anchors[..., :2] + _F32(more)
    centre = anchors[..., :2] + _F32(0.5) * sides
    middle = deltas[..., :2] * sides + centre
    half = _F32(0.5) * (np.exp(np.minimum(deltas[..., 2:], _F32(most))) * sides)
    return np.concatenate([middle - half, middle + half], -1)


_MOST = math.log(1000 / 16)


def _best(scores: Array, most: int) -> Array:
    return np.argsort(-scores, kind="stable")[:most]


def _kept(boxes: Array, threshold: float, most: int, more: float) -> Array:
    """Which boxes stay, of those that are sorted by score."""
    ranks = -np.arange(len(boxes), dtype=np.float64)
    how = Suppression(most, threshold, -np.inf)
    kept, _ = how.select(ranks, lambda k, others: overlap(boxes[k], boxes[others], more))
    return np.array(kept, INT64)


@openvino("Proposal", native=False)
def proposal_1(
    p: P,
    class_probs: Array,
    bbox_deltas: Array,
    image_shape: Array,
    *,
    base_size: int,
    pre_nms_topn: int,
    post_nms_topn: int,
    nms_thresh: float,
    feat_stride: int,
    min_size: int,
    ratio: Floats,
    scale: Floats,
    clip_before_nms: bool = True,
    clip_after_nms: bool = False,
    normalize: bool = False,
    box_size_scale: float = 1.0,
    box_coordinate_scale: float = 1.0,
    framework: str = "",
    n_outputs: int = 1,
) -> Any:
    """Rows (image, corners), ``post_nms_topn`` an image; the first unused one starts with -1."""
    wide = working_dtype(class_probs.dtype)
    tensorflow = framework.lower() == "tensorflow"
    more = 0.0 if tensorflow else 1.0
    batch, channels, rows, columns = class_probs.shape
    count = channels // 2
    numbers = image_shape.reshape(-1).astype(_F32)
    if len(ratio) * len(scale) != count or bbox_deltas.shape != (batch, 4 * count, rows, columns) or len(numbers) < 3:
        raise ValueError(f"scores of {class_probs.shape} and deltas of {bbox_deltas.shape} do not fit the anchors")
    high, broad = numbers[0], numbers[1]
    scales = [numbers[3] if len(numbers) > 3 else numbers[2], numbers[2]]
    if tensorflow:  # whose x goes down
        high, broad, scales = broad, high, scales[::-1]
    least = _F32(min_size) * np.array(scales, _F32)
    anchors = _anchors(base_size, ratio, scale, tensorflow)
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    shift = np.stack([y, x] if tensorflow else [x, y], -1).astype(_F32) * feat_stride
    placed = anchors + np.concatenate([shift, shift], -1)[:, :, None]
    limit = np.array([broad, high, broad, high], _F32)
    if tensorflow:
        placed = placed.clip(0, limit)
    rois = np.zeros((batch, post_nms_topn, 5), wide)
    probs = np.zeros((batch, post_nms_topn), wide)
    for k in range(batch):
        deltas = bbox_deltas[k].astype(_F32).reshape(count, 4, rows, columns).transpose(2, 3, 0, 1)
        deltas = deltas / np.array([box_coordinate_scale] * 2 + [box_size_scale] * 2, _F32)
        boxes = _moved(placed, deltas, more).reshape(-1, 4)
        if clip_before_nms:
            boxes = boxes.clip(0, limit - _F32(more))
        large = (boxes[:, 2:] - boxes[:, :2] + _F32(more) >= least).all(1)
        scores = class_probs[k, count:].astype(wide).transpose(1, 2, 0).reshape(-1) * large
        order = _best(scores, pre_nms_topn)
        order = order[_kept(boxes[order], nms_thresh, post_nms_topn, more)]
        found = boxes[order]
        if clip_after_nms:
            found = found.clip(0, limit)
        rois[k, : len(order), 0] = k
        rois[k, : len(order), 1:] = found / limit if normalize else found
        rois[k, len(order) :, 0][:1] = -1
        probs[k, : len(order)] = scores[order]
    outputs = rois.reshape(-1, 5).astype(class_probs.dtype), probs.reshape(-1).astype(class_probs.dtype)
    return outputs[:n_outputs]


openvino("Proposal", since=4, native=False)(proposal_1)


def _anchors(base: int, ratios: Floats, scales: Floats, tensorflow: bool) -> Array:
    """``[ratio and scale, 4]``; other frameworks than TensorFlow round the sides to whole pixels."""
    off = _F32(0 if tensorflow else 1)
    centre = _F32(0.5) * (base - off) - (_F32(base * 0.5) if tensorflow else _F32(0))
    found = []
    for ratio in ratios:
        width = np.sqrt(_F32(base * base) / _F32(ratio))
        width = width if tensorflow else np.floor(width + _F32(0.5))
        height = width * _F32(ratio)
        height = height if tensorflow else np.floor(height + _F32(0.5))
        for scale in scales:
            half_x, half_y = (_F32(0.5) * (side * _F32(scale) - off) for side in (width, height))
            found.append([centre - half_x, centre - half_y, centre + half_x, centre + half_y])
    return np.array(found, _F32)


def _refined(anchors: Array, deltas: Array, scores: Array, height: Any, width: Any, more: float) -> tuple[Array, Array]:
    """Boxes inside the image, and their scores, one a place and anchor."""
    count, rows, columns = scores.shape
    turned = deltas.reshape(count, 4, rows, columns).transpose(2, 3, 0, 1).reshape(-1, 4)
    boxes = _moved(anchors.reshape(-1, 4), turned, more, _MOST)
    boxes[:, 2:] -= _F32(more)
    limit = np.array([width, height, width, height], _F32) - _F32(more)
    return boxes.clip(0, limit), scores.transpose(1, 2, 0).reshape(-1)


@openvino("GenerateProposals", since=9, native=False)
def generate_proposals(
    p: P,
    im_info: Array,
    anchors: Array,
    deltas: Array,
    scores: Array,
    *,
    min_size: float,
    nms_threshold: float,
    pre_nms_count: int,
    post_nms_count: int,
    normalized: bool = True,
    nms_eta: float = 1.0,
    roi_num_type: Dtype = INT64,
    n_outputs: int = 3,
) -> Any:
    """The boxes of all images, their scores, and how many each image has."""
    more = 0.0 if normalized else 1.0
    rois, probs, counts = [np.zeros((0, 4), _F32)], [np.zeros(0, _F32)], []
    for info, moves, values in zip(im_info.astype(_F32), deltas.astype(_F32), scores.astype(_F32), strict=True):
        height, width = info[:2]
        scale = [info[2], info[2]] if len(info) == 3 else [info[3], info[2]]
        boxes, flat = _refined(anchors.astype(_F32), moves, values, height, width, more)
        order = _best(flat, pre_nms_count)
        least = _F32(min_size) * np.array(scale, _F32)
        order = order[(boxes[order, 2:] - boxes[order, :2] + _F32(more) >= least).all(1)]
        order = order[_kept(boxes[order], nms_threshold, post_nms_count, more)]
        rois.append(boxes[order])
        probs.append(flat[order])
        counts.append(len(order))
    outputs = (
        np.concatenate(rois).astype(scores.dtype),
        np.concatenate(probs).astype(scores.dtype),
        np.array(counts, roi_num_type),
    )
    return outputs[:n_outputs]


@openvino("ExperimentalDetectronGenerateProposalsSingleImage", since=6, native=False)
def detectron_proposals(
    p: P,
    im_info: Array,
    anchors: Array,
    deltas: Array,
    scores: Array,
    *,
    min_size: float,
    nms_threshold: float,
    pre_nms_count: int,
    post_nms_count: int,
    n_outputs: int = 2,
) -> Any:
    """``post_nms_count`` boxes and scores; those that are not used are 0."""
    height, width = im_info.reshape(-1).astype(_F32)[:2]
    boxes, flat = _refined(anchors.astype(_F32), deltas.astype(_F32), scores.astype(_F32), height, width, 1.0)
    flat = flat * (boxes[:, 2:] - boxes[:, :2] + 1 >= _F32(min_size)).all(1)
    order = _best(flat, pre_nms_count)
    order = order[_kept(boxes[order], nms_threshold, post_nms_count, 0.0)]
    rois, probs = np.zeros((post_nms_count, 4), scores.dtype), np.zeros(post_nms_count, scores.dtype)
    rois[: len(order)], probs[: len(order)] = boxes[order], flat[order]
    return (rois, probs)[:n_outputs]


@openvino("ExperimentalDetectronPriorGridGenerator", since=6, native=False)
def detectron_prior_grid(
    p: P,
    priors: Array,
    feature_map: Array,
    im_data: Array,
    *,
    flatten: bool = True,
    h: int = 0,
    w: int = 0,
    stride_x: float = 0.0,
    stride_y: float = 0.0,
) -> Array:
    """The priors around the middle of each cell."""
    rows, columns = h or feature_map.shape[2], w or feature_map.shape[3]
    step_x = _F32(stride_x or im_data.shape[3] / columns)
    step_y = _F32(stride_y or im_data.shape[2] / rows)
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    centres = np.stack([(x + _F32(0.5)) * step_x, (y + _F32(0.5)) * step_y], -1).astype(_F32)
    grid = priors.astype(_F32) + np.concatenate([centres, centres], -1)[:, :, None]
    rows_or_grid: Array = grid.reshape(-1, 4) if flatten else grid
    return rows_or_grid.astype(priors.dtype)


@openvino("ExperimentalDetectronTopKROIs", since=6, native=False)
def detectron_top_rois(p: P, rois: Array, probs: Array, *, max_rois: int = 0) -> Array:
    return rois[_best(probs, max_rois)]


@openvino("ExperimentalDetectronROIFeatureExtractor", since=6, native=False)
def detectron_roi_features(
    p: P,
    rois: Array,
    *pyramid: Array,
    output_size: int,
    sampling_ratio: int,
    pyramid_scales: Ints,
    aligned: bool = False,
    n_outputs: int = 2,
) -> Any:
    """Each region read from the level of the pyramid that its size asks for."""
    if len(pyramid_scales) < len(pyramid) or not pyramid:
        raise ValueError(f"{len(pyramid_scales)} scales do not fit a pyramid of {len(pyramid)} levels")
    out = np.zeros((len(rois), pyramid[0].shape[1], output_size, output_size), _F32)
    for k, (x1, y1, x2, y2) in enumerate(rois.astype(_F32)):
        area = (x2 - x1) * (y2 - y1)
        if not area > 0:
            continue
        level = math.floor(np.log2(np.sqrt(area) / _F32(224) + _F32(1e-6)) + 2)
        level = min(max(level, 0), len(pyramid) - 1)
        image = pyramid[level][0].astype(_F32)
        scale, off = _F32(1) / _F32(pyramid_scales[level]), _F32(0.5 if aligned else 0)
        start = y1 * scale - off, x1 * scale - off
        extent = (max(y2 * scale - off - start[0], _F32(1)), max(x2 * scale - off - start[1], _F32(1)))
        samples = _roi_align(image, start, extent, (output_size, output_size), sampling_ratio, _averaged)
        out[k] = _pool(samples, "avg")
    return (out.astype(pyramid[0].dtype), rois)[:n_outputs]


@openvino("ExperimentalDetectronDetectionOutput", since=6, native=False)
def detectron_detection_output(
    p: P,
    rois: Array,
    deltas: Array,
    scores: Array,
    im_info: Array,
    *,
    score_threshold: float,
    nms_threshold: float,
    max_delta_log_wh: float,
    num_classes: int,
    post_nms_count: int,
    max_detections_per_image: int,
    class_agnostic_box_regression: bool = False,
    deltas_weights: Floats,
    n_outputs: int = 3,
) -> Any:
    """The best boxes of all classes but the background (0), their classes and scores; those not used are 0."""
    boxes = rois.astype(_F32)
    whole = ((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))[:, None]
    weights = np.array(deltas_weights, _F32)
    moves = deltas.astype(_F32).reshape(len(rois), -1, 4) / weights
    if moves.shape[1] != num_classes or scores.shape != (len(rois), num_classes):
        raise ValueError(f"deltas of {deltas.shape} and scores of {scores.shape} do not fit {num_classes} classes")
    refined = _moved(boxes[:, None], moves, 1.0, max_delta_log_wh)
    refined[..., 2:] -= 1
    refined = np.maximum(refined, 0)
    values = np.where(whole, scores.astype(_F32), 0)
    found: list[tuple[float, int, int]] = []
    for category in range(1, num_classes):
        table = refined[:, category]
        own = values[:, category]
        order = np.flatnonzero(own > score_threshold)
        order = order[np.argsort(-own[order], kind="stable")]
        kept = order[_kept(table[order], nms_threshold, len(order), 1.0)]
        kept = kept if post_nms_count == -1 else kept[:post_nms_count]
        found += [(float(own[k]), category, int(k)) for k in kept]
    if len(found) > max_detections_per_image:
        found = sorted(found, key=lambda one: (-one[0], one[2]))[:max_detections_per_image]
    corners = np.zeros((max_detections_per_image, 4), scores.dtype)
    classes = np.zeros(max_detections_per_image, np.int32)
    best = np.zeros(max_detections_per_image, scores.dtype)
    for k, (score, category, box) in enumerate(found):
        corners[k], classes[k], best[k] = refined[box, category], category, score
    return (corners, classes, best)[:n_outputs]


# --- DetectionOutput


def _decoded(priors: Array, variances: Array | None, moves: Array, code_type: str, clip: bool) -> Array:
    """Boxes from priors ``[n, 4]`` and what the network says of them."""
    shift = moves if variances is None else moves * variances
    if code_type.endswith("CENTER_SIZE"):
        sides = priors[:, 2:] - priors[:, :2]
        middle = shift[:, :2] * sides + (priors[:, :2] + priors[:, 2:]) / 2
        half = np.exp(shift[:, 2:]) * sides / 2
        boxes = np.concatenate([middle - half, middle + half], 1)
    elif code_type.endswith("CORNER"):
        boxes = priors + shift
    else:
        known = ("caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE")
        raise unknown_word("code_type", code_type, known)
    return boxes.clip(0, 1) if clip else boxes


@openvino("DetectionOutput", since=8, native=False)
def detection_output(
    p: P,
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None = None,
    other_locations: Array | None = None,
    *,
    background_label_id: int = 0,
    top_k: int = -1,
    variance_encoded_in_target: bool = False,
    keep_top_k: Ints,
    code_type: str = "caffe.PriorBoxParameter.CORNER",
    share_location: bool = True,
    nms_threshold: float,
    confidence_threshold: float = 0.0,
    clip_after_nms: bool = False,
    clip_before_nms: bool = False,
    decrease_label_id: bool = False,
    normalized: bool = False,
    input_height: int = 1,
    input_width: int = 1,
    objectness_score: float = 0.0,
) -> Array:
    size = 4 if normalized else 5
    priors = proposals.shape[2] // size
    return _detection_output(
        locations,
        confidences,
        proposals,
        other_confidences,
        other_locations,
        num_classes=confidences.shape[1] // max(priors, 1),
        background=background_label_id,
        top_k=top_k,
        encoded=variance_encoded_in_target,
        keep=keep_top_k[0] if keep_top_k else -1,
        code_type=code_type,
        share=share_location,
        threshold=nms_threshold,
        confidence=confidence_threshold,
        clip_after=clip_after_nms,
        clip_before=clip_before_nms,
        by_prior=decrease_label_id,
        scale=None if normalized else (input_width, input_height),
        objectness=objectness_score,
    )


@openvino("DetectionOutput", native=False)
def detection_output_1(
    p: P,
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None = None,
    other_locations: Array | None = None,
    *,
    num_classes: int,
    background_label_id: int = 0,
    top_k: int = -1,
    variance_encoded_in_target: bool = False,
    keep_top_k: Ints,
    code_type: str = "caffe.PriorBoxParameter.CORNER",
    share_location: bool = True,
    nms_threshold: float,
    confidence_threshold: float = 0.0,
    clip_after_nms: bool = False,
    clip_before_nms: bool = False,
    decrease_label_id: bool = False,
    normalized: bool = False,
    input_height: int = 1,
    input_width: int = 1,
    objectness_score: float = 0.0,
) -> Any:
    """Version 1 states the number of classes; version 8 counts them."""
    priors = proposals.shape[2] // (4 if normalized else 5)
    if confidences.shape[1] != num_classes * priors:
        raise ValueError(f"confidences of {confidences.shape} do not fit {num_classes} classes and {priors} priors")
    return detection_output(
        p,
        locations,
        confidences,
        proposals,
        other_confidences,
        other_locations,
        background_label_id=background_label_id,
        top_k=top_k,
        variance_encoded_in_target=variance_encoded_in_target,
        keep_top_k=keep_top_k,
        code_type=code_type,
        share_location=share_location,
        nms_threshold=nms_threshold,
        confidence_threshold=confidence_threshold,
        clip_after_nms=clip_after_nms,
        clip_before_nms=clip_before_nms,
        decrease_label_id=decrease_label_id,
        normalized=normalized,
        input_height=input_height,
        input_width=input_width,
        objectness_score=objectness_score,
    )


def _detection_output(
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None,
    other_locations: Array | None,
    *,
    num_classes: int,
    background: int,
    top_k: int,
    encoded: bool,
    keep: int,
    code_type: str,
    share: bool,
    threshold: float,
    confidence: float,
    clip_after: bool,
    clip_before: bool,
    by_prior: bool,
    scale: tuple[int, int] | None,
    objectness: float,
) -> Array:
    """Rows (image, class, score, corners); the first one that is not used starts with -1."""
    wide = working_dtype(locations.dtype)
    images = len(locations)
    size = 4 if scale is None else 5
    count = proposals.shape[2] // size
    places = 1 if share else num_classes
    moves = locations.astype(wide).reshape(images, count, places, 4)
    scores = confidences.astype(wide).reshape(images, count, num_classes)
    if other_confidences is not None:
        objects = other_confidences.astype(wide).reshape(images, count, 2)[:, :, 1] < objectness
        nothing = np.arange(num_classes) == background
        scores = np.where(objects[:, :, None], nothing.astype(wide), scores)
    rows: list[list[float]] = []
    for k in range(images):
        table = proposals[min(k, len(proposals) - 1)].astype(wide)
        priors = table[0].reshape(count, size)[:, size - 4 :]
        if scale is not None:
            priors = priors / np.array([*scale, *scale], wide)
        variances = None if encoded else table[1][: count * 4].reshape(count, 4)
        boxes: dict[int, Array] = {}
        for place in range(places):
            label = -1 if share else place
            if background > -1 and label == background:
                continue
            own = priors
            if other_locations is not None:
                first = other_locations[k].astype(wide).reshape(count, places, 4)[:, place]
                own = _decoded(own, variances, first, code_type, clip_before)
            boxes[label] = _decoded(own, variances, moves[k, :, place], code_type, clip_before)
        kept = _classes_kept(scores[k], boxes, share, background, top_k, threshold, confidence, by_prior=by_prior)
        total = sum(len(found) for found in kept.values())
        if keep > -1 and total > keep:
            ranked = [(-scores[k, box, label], box, label) for label, found in kept.items() for box in found]
            best = sorted(ranked, key=lambda one: one[:2])[:keep]
            kept = {label: [box for _, box, own in best if own == label] for label in sorted(kept)}
        for label, found in sorted(kept.items()):
            for box in found:
                corners = boxes[-1 if share else label][box]
                corners = corners.clip(0, 1) if clip_after else corners
                named = label - 1 if by_prior else label
                rows.append([k, named, scores[k, box, label], *corners])
    # By the specification there is room for so many.
    most = keep if keep > 0 else (num_classes * top_k if top_k > 0 else num_classes * count)
    out = np.zeros((1, 1, images * most, 7), locations.dtype)
    if rows:
        out[0, 0, : len(rows)] = np.array(rows, wide)
    out[0, 0, len(rows) :, 0][:1] = -1
    return out


def _classes_kept(
    scores: Array,
    boxes: dict[int, Array],
    share: bool,
    background: int,
    top_k: int,
    threshold: float,
    confidence: float,
    by_prior: bool,
) -> dict[int, list[int]]:
    """The boxes of each class that stay. ``by_prior``: each prior has one class only, its best."""
    count, classes = scores.shape
    if not by_prior:
        kept: dict[int, list[int]] = {}
        for label in range(classes):
            table = boxes.get(-1 if share else label)
            if label == background or table is None:
                continue
            order = np.flatnonzero(scores[:, label] > confidence)
            order = order[np.argsort(-scores[order, label], kind="stable")]
            order = order[:top_k] if top_k > -1 else order
            kept[label] = order[_kept(table[order], threshold, len(order), 0.0)].tolist()
        return kept
    found = []
    for box in range(count):
        allowed = [c for c in range(1, classes) if background < 0 or c != background]
        label = max(allowed, key=lambda c: (scores[box, c], -c), default=0)
        if label and scores[box, label] >= confidence and scores[box, label] > -1:
            found.append((-scores[box, label], box, label))
    found.sort(key=lambda one: one[:2])
    found = found[:top_k] if top_k != -1 else found
    kept = {}
    for _, box, label in found:
        table, own = boxes[-1 if share else label], kept.setdefault(label, [])
        if not own or not (overlap(table[box], table[own]) > threshold).any():
            own.append(box)
    return kept


# --- YOLO


@openvino("RegionYolo", native=False)
def region_yolo(
    p: P,
    x: Array,
    *,
    anchors: Floats = (),
    axis: int = 1,
    end_axis: int = 1,
    coords: int,
    classes: int,
    num: int,
    do_softmax: bool = True,
    mask: Ints = (),
) -> Array:
    """Sigmoids on place, score and (without ``do_softmax``) classes; softmax over the classes with it."""
    wide = working_dtype(x.dtype)
    if x.ndim != 4:
        raise ValueError(f"RegionYolo needs [N, C, H, W], not {x.shape}")
    regions = num if do_softmax else len(mask)
    entries = coords + classes + 1
    if x.shape[1] < regions * entries:
        raise ValueError(f"{x.shape[1]} channels do not hold {regions} regions of {entries}")
    batch, _, height, width = x.shape
    parts = x[:, : regions * entries].astype(wide).reshape(batch, regions, entries, height, width)
    out = parts.copy()
    last = coords + 1 if do_softmax else entries
    for chosen in (slice(0, 2), slice(coords, last)):
        out[:, :, chosen] = 1 / (1 + np.exp(-parts[:, :, chosen]))
    if do_softmax:
        logits = parts[:, :, coords + 1 :]
        powers = np.exp(logits - logits.max(2, keepdims=True))
        out[:, :, coords + 1 :] = powers / powers.sum(2, keepdims=True)
    out = out.reshape(batch, -1, height, width).astype(x.dtype)
    if not do_softmax:
        return out
    first, final = axis % 4, end_axis % 4
    shape = (*out.shape[:first], math.prod(out.shape[first : final + 1]), *out.shape[final + 1 :])
    return out.reshape(shape)
