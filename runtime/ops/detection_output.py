"""OpenVINO's object detection outputs, in NumPy: DetectionOutput and YOLO regions.

Ties in scores select the first box where the specification leaves the order open.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import Array
from ..record import record
from .axis_arguments import unknown_value_error
from .non_max_suppression import intersection_over_union, select_presorted
from .operator_helpers import working_dtype
from .registry import Floats, Ints, inherit_attributes, openvino

P = Any
INT64 = np.dtype(np.int64)
_F32 = np.float32


# --- DetectionOutput


@record(frozen=True)
class DetectionAttributes:
    """The attributes of DetectionOutput."""

    keep_top_k: Ints
    nms_threshold: float
    background_label_id: int = 0
    top_k: int = -1
    variance_encoded_in_target: bool = False
    code_type: str = "caffe.PriorBoxParameter.CORNER"
    share_location: bool = True
    confidence_threshold: float = 0.0
    clip_after_nms: bool = False
    clip_before_nms: bool = False
    decrease_label_id: bool = False
    normalized: bool = False
    input_height: int = 1
    input_width: int = 1
    objectness_score: float = 0.0

    @property
    def prior_size(self) -> int:
        """Numbers of a prior: its corners, and an image index before them unless ``normalized``."""
        return 4 if self.normalized else 5


def _decode_boxes(priors: Array, variances: Array | None, offsets: Array, attrs: DetectionAttributes) -> Array:
    """Decode boxes from priors ``[n, 4]`` and predicted offsets."""
    shift = offsets if variances is None else offsets * variances
    if attrs.code_type.endswith("CENTER_SIZE"):
        sizes = priors[:, 2:] - priors[:, :2]
        center = shift[:, :2] * sizes + (priors[:, :2] + priors[:, 2:]) / 2
        half = np.exp(shift[:, 2:]) * sizes / 2
        boxes = np.concatenate([center - half, center + half], 1)
    elif attrs.code_type.endswith("CORNER"):
        boxes = priors + shift
    else:
        code_types = ("caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE")
        raise unknown_value_error("code_type", attrs.code_type, code_types)
    return boxes.clip(0, 1) if attrs.clip_before_nms else boxes


@openvino("DetectionOutput", since=8, native=False)
@inherit_attributes(DetectionAttributes)
def detection_output(
    p: P,
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None = None,
    other_locations: Array | None = None,
    **attributes: Any,
) -> Array:
    attrs = DetectionAttributes(**attributes)
    classes = confidences.shape[1] // max(proposals.shape[2] // attrs.prior_size, 1)
    return _detection_output(locations, confidences, proposals, other_confidences, other_locations, classes, attrs)


@openvino("DetectionOutput", native=False)
@inherit_attributes(DetectionAttributes)
def detection_output_1(
    p: P,
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None = None,
    other_locations: Array | None = None,
    *,
    num_classes: int,
    **attributes: Any,
) -> Array:
    """Version 1 has the number of classes as an attribute; version 8 derives it."""
    attrs = DetectionAttributes(**attributes)
    priors = proposals.shape[2] // attrs.prior_size
    if confidences.shape[1] != num_classes * priors:
        raise ValueError(f"confidences of {confidences.shape} do not fit {num_classes} classes and {priors} priors")
    return _detection_output(locations, confidences, proposals, other_confidences, other_locations, num_classes, attrs)


def _detection_output(
    locations: Array,
    confidences: Array,
    proposals: Array,
    other_confidences: Array | None,
    other_locations: Array | None,
    num_classes: int,
    attrs: DetectionAttributes,
) -> Array:
    """Rows (image, class, score, corners); the first unused row starts with -1."""
    working = working_dtype(locations.dtype)
    images = len(locations)
    size, share, top_k = attrs.prior_size, attrs.share_location, attrs.top_k
    keep = attrs.keep_top_k[0] if attrs.keep_top_k else -1
    count = proposals.shape[2] // size
    location_classes = 1 if share else num_classes
    offsets = locations.astype(working).reshape(images, count, location_classes, 4)
    scores = confidences.astype(working).reshape(images, count, num_classes)
    if other_confidences is not None:
        is_background = other_confidences.astype(working).reshape(images, count, 2)[:, :, 1] < attrs.objectness_score
        background_scores = np.arange(num_classes) == attrs.background_label_id
        scores = np.where(is_background[:, :, None], background_scores.astype(working), scores)
    rows: list[list[float]] = []
    for k in range(images):
        table = proposals[min(k, len(proposals) - 1)].astype(working)
        priors = table[0].reshape(count, size)[:, size - 4 :]
        if not attrs.normalized:
            priors = priors / np.array([attrs.input_width, attrs.input_height] * 2, working)
        variances = None if attrs.variance_encoded_in_target else table[1][: count * 4].reshape(count, 4)
        boxes: dict[int, Array] = {}
        for location_class in range(location_classes):
            label = -1 if share else location_class
            if attrs.background_label_id > -1 and label == attrs.background_label_id:
                continue
            class_priors = priors
            if other_locations is not None:
                refinement = other_locations[k].astype(working).reshape(count, location_classes, 4)[:, location_class]
                class_priors = _decode_boxes(class_priors, variances, refinement, attrs)
            boxes[label] = _decode_boxes(class_priors, variances, offsets[k, :, location_class], attrs)
        picks = _select_per_class(scores[k], boxes, attrs)
        total = sum(len(chosen) for chosen in picks.values())
        if keep > -1 and total > keep:
            ranked = [(-scores[k, box, label], box, label) for label, chosen in picks.items() for box in chosen]
            best = sorted(ranked, key=lambda entry: entry[:2])[:keep]
            picks = {label: [box for _, box, own in best if own == label] for label in sorted(picks)}
        for label, chosen in sorted(picks.items()):
            for box in chosen:
                corners = boxes[-1 if share else label][box]
                corners = corners.clip(0, 1) if attrs.clip_after_nms else corners
                output_label = label - 1 if attrs.decrease_label_id else label
                rows.append([k, output_label, scores[k, box, label], *corners])
    # Output capacity by the specification.
    capacity = keep if keep > 0 else (num_classes * top_k if top_k > 0 else num_classes * count)
    out = np.zeros((1, 1, images * capacity, 7), locations.dtype)
    if rows:
        out[0, 0, : len(rows)] = np.array(rows, working)
    out[0, 0, len(rows) :, 0][:1] = -1
    return out


def _select_per_class(scores: Array, boxes: dict[int, Array], attrs: DetectionAttributes) -> dict[int, list[int]]:
    """Select the boxes of each class. ``decrease_label_id``: each prior has only its best class."""
    count, classes = scores.shape
    background, top_k, threshold = attrs.background_label_id, attrs.top_k, attrs.nms_threshold
    confidence, share = attrs.confidence_threshold, attrs.share_location
    if not attrs.decrease_label_id:
        picks: dict[int, list[int]] = {}
        for label in range(classes):
            table = boxes.get(-1 if share else label)
            if label == background or table is None:
                continue
            order = np.flatnonzero(scores[:, label] > confidence)
            order = order[np.argsort(-scores[order, label], kind="stable")]
            order = order[:top_k] if top_k > -1 else order
            picks[label] = order[select_presorted(table[order], threshold, len(order), 0.0)].tolist()
        return picks
    candidates = []
    for box in range(count):
        labels = [c for c in range(1, classes) if background < 0 or c != background]
        label = max(labels, key=lambda c: (scores[box, c], -c), default=0)
        if label and scores[box, label] >= confidence and scores[box, label] > -1:
            candidates.append((-scores[box, label], box, label))
    candidates.sort(key=lambda candidate: candidate[:2])
    candidates = candidates[:top_k] if top_k != -1 else candidates
    picks = {}
    for _, box, label in candidates:
        table, chosen = boxes[-1 if share else label], picks.setdefault(label, [])
        if not chosen or not (intersection_over_union(table[box], table[chosen]) > threshold).any():
            chosen.append(box)
    return picks


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
    """Sigmoid of position, score and classes; with ``do_softmax``, softmax over the classes."""
    working = working_dtype(x.dtype)
    if x.ndim != 4:
        raise ValueError(f"RegionYolo needs [N, C, H, W], not {x.shape}")
    regions = num if do_softmax else len(mask)
    entries = coords + classes + 1
    if x.shape[1] < regions * entries:
        raise ValueError(f"{x.shape[1]} channels do not hold {regions} regions of {entries}")
    batch, _, height, width = x.shape
    parts = x[:, : regions * entries].astype(working).reshape(batch, regions, entries, height, width)
    out = parts.copy()
    sigmoid_end = coords + 1 if do_softmax else entries
    for channels in (slice(0, 2), slice(coords, sigmoid_end)):
        out[:, :, channels] = 1 / (1 + np.exp(-parts[:, :, channels]))
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
