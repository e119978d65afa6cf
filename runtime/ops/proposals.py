"""OpenVINO's region proposals and Detectron operators, in NumPy.

Ties in scores select the first box where the specification leaves the order open.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import Array
from .non_max_suppression import select_presorted
from .operator_helpers import Dtype, working_dtype
from .registry import Floats, Ints, openvino
from .roi_pooling import pool_samples, roi_align_samples, sum_weighted_neighbours

P = Any
INT64 = np.dtype(np.int64)
_F32 = np.float32


def _apply_deltas(anchors: Array, deltas: Array, margin: float, max_log: float = math.inf) -> Array:
    """Apply deltas to boxes: shift the center by (dx, dy) sizes, scale the sides by exp(dw), exp(dh).

    Returns (center - half, center + half); ``margin``: added to the side lengths; ``max_log``: bound of dw and dh.
    """
    sizes = anchors[..., 2:] - anchors[..., :2] + _F32(margin)
    center = anchors[..., :2] + _F32(0.5) * sizes
    new_center = deltas[..., :2] * sizes + center
    half_size = _F32(0.5) * (np.exp(np.minimum(deltas[..., 2:], _F32(max_log))) * sizes)
    return np.concatenate([new_center - half_size, new_center + half_size], -1)


_MAX_LOG_SCALE = math.log(1000 / 16)


def _top_indices(scores: Array, count: int) -> Array:
    return np.argsort(-scores, kind="stable")[:count]


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
    """Rows (image, corners), ``post_nms_topn`` per image; the first unused one starts with -1."""
    working = working_dtype(class_probs.dtype)
    tensorflow = framework.lower() == "tensorflow"
    margin = 0.0 if tensorflow else 1.0
    batch, channels, rows, columns = class_probs.shape
    count = channels // 2
    numbers = image_shape.reshape(-1).astype(_F32)
    if len(ratio) * len(scale) != count or bbox_deltas.shape != (batch, 4 * count, rows, columns) or len(numbers) < 3:
        raise ValueError(f"scores of {class_probs.shape} and deltas of {bbox_deltas.shape} do not fit the anchors")
    image_height, image_width = numbers[0], numbers[1]
    scales = [numbers[3] if len(numbers) > 3 else numbers[2], numbers[2]]
    if tensorflow:  # its x axis is vertical
        image_height, image_width, scales = image_width, image_height, scales[::-1]
    min_sizes = _F32(min_size) * np.array(scales, _F32)
    anchors = _anchors(base_size, ratio, scale, tensorflow)
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    shift = np.stack([y, x] if tensorflow else [x, y], -1).astype(_F32) * feat_stride
    grid_anchors = anchors + np.concatenate([shift, shift], -1)[:, :, None]
    limit = np.array([image_width, image_height, image_width, image_height], _F32)
    if tensorflow:
        grid_anchors = grid_anchors.clip(0, limit)
    rois = np.zeros((batch, post_nms_topn, 5), working)
    probs = np.zeros((batch, post_nms_topn), working)
    for k in range(batch):
        deltas = bbox_deltas[k].astype(_F32).reshape(count, 4, rows, columns).transpose(2, 3, 0, 1)
        deltas = deltas / np.array([box_coordinate_scale] * 2 + [box_size_scale] * 2, _F32)
        boxes = _apply_deltas(grid_anchors, deltas, margin).reshape(-1, 4)
        if clip_before_nms:
            boxes = boxes.clip(0, limit - _F32(margin))
        is_large = (boxes[:, 2:] - boxes[:, :2] + _F32(margin) >= min_sizes).all(1)
        scores = class_probs[k, count:].astype(working).transpose(1, 2, 0).reshape(-1) * is_large
        order = _top_indices(scores, pre_nms_topn)
        order = order[select_presorted(boxes[order], nms_thresh, post_nms_topn, margin)]
        selected = boxes[order]
        if clip_after_nms:
            selected = selected.clip(0, limit)
        rois[k, : len(order), 0] = k
        rois[k, : len(order), 1:] = selected / limit if normalize else selected
        rois[k, len(order) :, 0][:1] = -1
        probs[k, : len(order)] = scores[order]
    outputs = rois.reshape(-1, 5).astype(class_probs.dtype), probs.reshape(-1).astype(class_probs.dtype)
    return outputs[:n_outputs]


openvino("Proposal", since=4, native=False)(proposal_1)


def _anchors(base: int, ratios: Floats, scales: Floats, tensorflow: bool) -> Array:
    """Anchors ``[ratios * scales, 4]``; frameworks other than TensorFlow round the sides to integers."""
    margin = _F32(0 if tensorflow else 1)
    centre = _F32(0.5) * (base - margin) - (_F32(base * 0.5) if tensorflow else _F32(0))
    anchors = []
    for ratio in ratios:
        width = np.sqrt(_F32(base * base) / _F32(ratio))
        width = width if tensorflow else np.floor(width + _F32(0.5))
        height = width * _F32(ratio)
        height = height if tensorflow else np.floor(height + _F32(0.5))
        for scale in scales:
            half_x, half_y = (_F32(0.5) * (side * _F32(scale) - margin) for side in (width, height))
            anchors.append([centre - half_x, centre - half_y, centre + half_x, centre + half_y])
    return np.array(anchors, _F32)


def _refine_anchors(
    anchors: Array, deltas: Array, scores: Array, height: Any, width: Any, margin: float
) -> tuple[Array, Array]:
    """Boxes clipped to the image and their scores, one per position and anchor."""
    count, rows, columns = scores.shape
    flat_deltas = deltas.reshape(count, 4, rows, columns).transpose(2, 3, 0, 1).reshape(-1, 4)
    boxes = _apply_deltas(anchors.reshape(-1, 4), flat_deltas, margin, _MAX_LOG_SCALE)
    boxes[:, 2:] -= _F32(margin)
    limit = np.array([width, height, width, height], _F32) - _F32(margin)
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
    """Returns the boxes of all images, their scores, and the count per image."""
    margin = 0.0 if normalized else 1.0
    rois, probs, counts = [np.zeros((0, 4), _F32)], [np.zeros(0, _F32)], []
    for info, image_deltas, values in zip(im_info.astype(_F32), deltas.astype(_F32), scores.astype(_F32), strict=True):
        height, width = info[:2]
        scale = [info[2], info[2]] if len(info) == 3 else [info[3], info[2]]
        boxes, flat = _refine_anchors(anchors.astype(_F32), image_deltas, values, height, width, margin)
        order = _top_indices(flat, pre_nms_count)
        min_sizes = _F32(min_size) * np.array(scale, _F32)
        order = order[(boxes[order, 2:] - boxes[order, :2] + _F32(margin) >= min_sizes).all(1)]
        order = order[select_presorted(boxes[order], nms_threshold, post_nms_count, margin)]
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
    """Returns ``post_nms_count`` boxes and scores; unused ones are 0."""
    height, width = im_info.reshape(-1).astype(_F32)[:2]
    boxes, flat = _refine_anchors(anchors.astype(_F32), deltas.astype(_F32), scores.astype(_F32), height, width, 1.0)
    flat = flat * (boxes[:, 2:] - boxes[:, :2] + 1 >= _F32(min_size)).all(1)
    order = _top_indices(flat, pre_nms_count)
    order = order[select_presorted(boxes[order], nms_threshold, post_nms_count, 0.0)]
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
    """The priors around the center of each cell."""
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
    return rois[_top_indices(probs, max_rois)]


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
    """Pool each region from the pyramid level that matches its size."""
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
        scale, half_pixel = _F32(1) / _F32(pyramid_scales[level]), _F32(0.5 if aligned else 0)
        start = y1 * scale - half_pixel, x1 * scale - half_pixel
        extent = (max(y2 * scale - half_pixel - start[0], _F32(1)), max(x2 * scale - half_pixel - start[1], _F32(1)))
        samples = roi_align_samples(
            image, start, extent, (output_size, output_size), sampling_ratio, sum_weighted_neighbours
        )
        out[k] = pool_samples(samples, "avg")
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
    """The best boxes of all classes but the background (0), their classes and scores; unused ones are 0."""
    boxes = rois.astype(_F32)
    is_valid = ((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))[:, None]
    weights = np.array(deltas_weights, _F32)
    scaled_deltas = deltas.astype(_F32).reshape(len(rois), -1, 4) / weights
    if scaled_deltas.shape[1] != num_classes or scores.shape != (len(rois), num_classes):
        raise ValueError(f"deltas of {deltas.shape} and scores of {scores.shape} do not fit {num_classes} classes")
    refined = _apply_deltas(boxes[:, None], scaled_deltas, 1.0, max_delta_log_wh)
    refined[..., 2:] -= 1
    refined = np.maximum(refined, 0)
    values = np.where(is_valid, scores.astype(_F32), 0)
    detections: list[tuple[float, int, int]] = []
    for category in range(1, num_classes):
        table = refined[:, category]
        class_scores = values[:, category]
        order = np.flatnonzero(class_scores > score_threshold)
        order = order[np.argsort(-class_scores[order], kind="stable")]
        selected = order[select_presorted(table[order], nms_threshold, len(order), 1.0)]
        selected = selected if post_nms_count == -1 else selected[:post_nms_count]
        detections += [(float(class_scores[k]), category, int(k)) for k in selected]
    if len(detections) > max_detections_per_image:
        detections = sorted(detections, key=lambda detection: (-detection[0], detection[2]))[:max_detections_per_image]
    corners = np.zeros((max_detections_per_image, 4), scores.dtype)
    classes = np.zeros(max_detections_per_image, np.int32)
    best = np.zeros(max_detections_per_image, scores.dtype)
    for k, (score, category, box) in enumerate(detections):
        corners[k], classes[k], best[k] = refined[box, category], category, score
    return (corners, classes, best)[:n_outputs]
