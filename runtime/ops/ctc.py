"""OpenVINO's connectionist temporal classification: greedy decoding and loss, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Array
from .axis_arguments import read_int
from .operator_helpers import Dtype, working_dtype
from .registry import openvino

P = Any
INT64 = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)


def _collapse_repeats_and_blanks(best: Array, blank: int, merge: bool) -> Array:
    """Remove blanks and, with ``merge``, repetitions from the classes of a sequence."""
    keep = best != blank
    if merge:
        keep[1:] &= best[1:] != best[:-1]
    return np.asarray(best[keep])


@openvino("CTCGreedyDecoder", native=False)
def ctc_greedy_decoder(p: P, x: Array, mask: Array, *, ctc_merge_repeated: bool = True) -> Array:
    """Input ``[T, N, C]``, mask ``[T, N]``; a sequence ends at its first 0. The last class is the blank."""
    steps, batch, classes = x.shape
    if mask.shape != (steps, batch):
        raise ValueError(f"a mask of shape {mask.shape} does not fit {x.shape}")
    out = np.full((batch, steps, 1, 1), -1, x.dtype)
    for k in range(batch):
        ends = np.flatnonzero(mask[:, k] == 0)
        best = x[: ends[0] if len(ends) else steps, k].argmax(-1)
        decoded = _collapse_repeats_and_blanks(best, classes - 1, ctc_merge_repeated)
        out[k, : len(decoded), 0, 0] = decoded
    return out


@openvino("CTCGreedyDecoderSeqLen", since=6, native=False)
def ctc_greedy_decoder_seq_len(
    p: P,
    x: Array,
    lengths: Array,
    blank_index: Array | None = None,
    *,
    merge_repeated: bool = True,
    classes_index_type: Dtype = _INT32,
    sequence_length_type: Dtype = _INT32,
    n_outputs: int = 2,
) -> Any:
    """Input ``[N, T, C]``, lengths ``[N]``: returns the classes, padded with -1, and their counts."""
    batch, steps, classes = x.shape
    if lengths.shape != (batch,) or (lengths < 0).any() or (lengths > steps).any():
        raise ValueError(f"lengths {lengths.tolist()} do not fit {x.shape}")
    blank = classes - 1 if blank_index is None else read_int(p, blank_index, "blank_index")
    out = np.full((batch, steps), -1, classes_index_type)
    counts = np.zeros(batch, sequence_length_type)
    for k, length in enumerate(lengths.tolist()):
        decoded = _collapse_repeats_and_blanks(x[k, :length].argmax(-1), blank, merge_repeated)
        out[k, : len(decoded)] = decoded
        counts[k] = len(decoded)
    return (out, counts)[:n_outputs]


@openvino("CTCLoss", since=4, native=False)
def ctc_loss(
    p: P,
    logits: Array,
    logit_length: Array,
    labels: Array,
    label_length: Array,
    blank_index: Array | None = None,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    unique: bool = False,
) -> Array:
    """The negative log probability of all alignments of ``labels`` to the steps."""
    batch, steps, classes = logits.shape
    if labels.ndim != 2 or not len(labels) == len(logit_length) == len(label_length) == batch:
        raise ValueError(f"labels of shape {labels.shape} and their lengths do not fit {logits.shape}")
    blank = classes - 1 if blank_index is None else read_int(p, blank_index, "blank_index")
    loss_dtype = working_dtype(logits.dtype)
    losses = np.empty(batch, loss_dtype)
    for k in range(batch):
        length, count = int(logit_length[k]), int(label_length[k])
        if not (0 <= count <= length <= steps and count <= labels.shape[1]):
            raise ValueError(f"{count} labels do not fit {length} of {steps} steps")
        target = [int(label) for label in labels[k, :count]]
        if preprocess_collapse_repeated:
            target = [label for i, label in enumerate(target) if i == 0 or label != target[i - 1]]
        if unique:
            target = list(dict.fromkeys(target))
        if any(not 0 <= label < classes for label in target):
            raise IndexError(f"a label of {target} is no class of {classes}")
        values = logits[k, :length].astype(np.float64)
        values = values - values.max(-1, keepdims=True)
        logs = values - np.log(np.exp(values).sum(-1, keepdims=True))
        losses[k] = -_alignment_log_probability(logs, target, blank, ctc_merge_repeated)
    return losses.astype(logits.dtype)


def _alignment_log_probability(logs: Array, target: list[int], blank: int, merge: bool) -> float:
    """The log probability of ``target`` by the forward algorithm; states are the labels with blanks around each."""
    states = [blank]
    for label in target:
        states += [label, blank]
    state_classes = np.array(states)
    labels = np.arange(len(states)) % 2 == 1
    stays = ~labels | merge  # a label may repeat only where repetitions merge
    skips = labels.copy()  # from label to label, past the blank
    if merge:
        skips[2:] &= state_classes[2:] != state_classes[:-2]
    skips[:2] = False
    alpha = np.full(len(states), -np.inf)
    alpha[0] = 0.0
    first = True
    for row in logs:
        entering = np.where(stays, alpha, -np.inf)
        if first:  # start at the first blank or the first label
            entering = np.full(len(states), -np.inf)
            entering[:2] = 0.0
            first = False
        else:
            entering[1:] = np.logaddexp(entering[1:], alpha[:-1])
            entering[2:] = np.logaddexp(entering[2:], np.where(skips[2:], alpha[:-2], -np.inf))
        alpha = entering + row[state_classes]
    return float(np.logaddexp.reduce(alpha[-2:]))
