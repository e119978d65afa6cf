"""Einsum: lowers an equation to transposes (free), matrix products and sums.

Inputs are contracted pairwise from the left. Labels not needed later are summed: those in both operands as the inner
dimension of the product, those in one operand before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..record import record
from .axis_arguments import decode_string, element_count
from .operator_helpers import cast, working_dtype
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
#: Labels of a tensor's axes: letters, and numbers for the axes of an ellipsis, counted from the last one.
Labels = tuple[str, ...]


@record(frozen=True)
class LabelledTensor:
    """A tensor with distinct axis labels."""

    x: T
    labels: Labels

    def extent(self, label: str) -> Any:
        return self.x.shape[self.labels.index(label)]


@onnx("Einsum", since=12)
@openvino("Einsum", since=7)
def einsum(p: P, *inputs: T, equation: str) -> T:
    terms, output_labels = _parse_equation(decode_string(equation), [x.ndim for x in inputs])
    dtype = inputs[0].dtype
    working = working_dtype(dtype)
    operands = [_take_diagonals(p, cast(p, x, working), labels) for x, labels in zip(inputs, terms, strict=True)]
    _check_extents(operands, equation)
    result = operands[0]
    for k, other in enumerate(operands[1:], 2):
        later_labels = {label for operand in operands[k:] for label in operand.labels}
        result = _contract(p, result, other, later_labels.union(output_labels))
    result = _sum_out(p, result, output_labels)
    return cast(p, p.transpose(result.x, [result.labels.index(label) for label in output_labels]), dtype)


def _parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Parse the axis labels of each input and of the result.

    Raises:
        ModelError: the equation is invalid, or does not match the ranks.
    """
    input_terms, arrow, target = equation.replace(" ", "").partition("->")
    parts = input_terms.split(",")
    if len(parts) != len(ranks):
        raise ModelError(
            f"equation {equation!r} has {len(parts)} terms for {len(ranks)} inputs",
            name="equation",
            expected=f"{len(ranks)} terms",
            got=equation,
        )
    terms = [_term_labels(part, rank, equation) for part, rank in zip(parts, ranks, strict=True)]
    ellipsis_rank = max((sum(label.isdigit() for label in term) for term in terms), default=0)
    ellipsis = tuple(str(k) for k in range(ellipsis_rank))[::-1]
    if arrow:
        dots = "..." in target
        output_labels = _term_labels(target, len(target) - 3 * dots + len(ellipsis) * dots, equation)
        if len(set(output_labels)) != len(output_labels):
            raise ModelError(f"equation {equation!r} names an axis of the result twice", name="equation", got=equation)
    else:
        letters = [label for term in terms for label in term if not label.isdigit()]
        output_labels = (*ellipsis, *sorted(label for label in set(letters) if letters.count(label) == 1))
    unknown = set(output_labels).difference(*terms)
    if unknown:
        raise ModelError(
            f"equation {equation!r}: no input has the axis '{min(unknown)}' of the result",
            name="equation",
            got=equation,
        )
    return terms, output_labels


def _term_labels(term: str, rank: int, equation: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    extra = rank - len(letters)
    if not (letters.isascii() and (letters.isalpha() or not letters)) or extra < 0 or (extra and not dots):
        raise ModelError(
            f"equation {equation!r}: '{term}' does not fit a tensor of {rank} dimensions",
            name="equation",
            expected=f"{rank} axes",
            got=term,
        )
    return (*before, *tuple(str(k) for k in range(extra))[::-1], *after)


def _take_diagonals(p: P, x: T, labels: Labels) -> LabelledTensor:
    """Replace axes with the same label by their diagonal."""
    while len(set(labels)) != len(labels):
        label = next(name for name in labels if labels.count(name) > 1)
        first, second = [k for k, name in enumerate(labels) if name == label][:2]
        n = x.shape[first]
        if x.shape[second] != n:
            raise ModelError(
                f"the axes '{label}' of shape {x.shape} have no diagonal: their lengths differ",
                name=label,
                got=str(x.shape),
            )
        others = [k for k in range(x.ndim) if k not in (first, second)]
        other_extents = tuple(x.shape[k] for k in others)
        flat = p.reshape(p.transpose(x, [first, second, *others]), (n * n, *other_extents))
        x = p.slice(flat, [0] * (len(other_extents) + 1), [n + 1, *[1] * len(other_extents)], (n, *other_extents))
        labels = (label, *(labels[k] for k in others))
    return LabelledTensor(x, labels)


def _check_extents(operands: Iterable[LabelledTensor], equation: str) -> None:
    extents: dict[str, Any] = {}
    for operand in operands:
        for label, extent in zip(operand.labels, operand.x.shape, strict=True):
            previous = extents.get(label, 1)
            if previous == 1:
                extents[label] = extent
            elif extent != previous and extent != 1:
                raise ModelError(
                    f"equation {equation!r}: axis '{label}' is of length {previous} and of length {extent}",
                    name=label,
                    expected=str(previous),
                    got=str(extent),
                )


def _sum_out(p: P, operand: LabelledTensor, keep: Iterable[str]) -> LabelledTensor:
    """Sum over the axes that are not in ``kept``."""
    axes = [k for k, label in enumerate(operand.labels) if label not in keep]
    if not axes:
        return operand
    return LabelledTensor(p.reduce(np.add, operand.x, axes, False), tuple(x for x in operand.labels if x in keep))


def _contract(p: P, a: LabelledTensor, b: LabelledTensor, needed: set[str]) -> LabelledTensor:
    """Contract two tensors over the labels that are not needed."""
    # An axis of length 1 broadcasts against a longer one of the same label.
    a, b = (_drop_unit_labels(p, operand, other) for operand, other in ((a, b), (b, a)))
    a, b = (_sum_out(p, operand, needed.union(other.labels)) for operand, other in ((a, b), (b, a)))
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in a.labels if label not in shared]
    columns = [label for label in b.labels if label not in shared]
    labels = (*batch, *rows, *columns)
    if not inner:
        # No sums: elementwise.
        left, right = _transpose_to(p, a, [*batch, *rows]), _transpose_to(p, b, [*batch, *columns])
        left = p.reshape(left, (*left.shape, *[1] * len(columns)))
        batch_rank = len(batch)
        right = p.reshape(right, (*right.shape[:batch_rank], *[1] * len(rows), *right.shape[batch_rank:]))
        function = np.logical_and if a.x.dtype == np.bool_ else np.multiply
        return LabelledTensor(p.map(function, left, right), labels)
    left = _as_matrices(p, a, batch, rows, inner)
    right = _as_matrices(p, b, batch, inner, columns)
    shape = (*(a.extent(x) for x in (*batch, *rows)), *(b.extent(x) for x in columns))
    return LabelledTensor(p.reshape(p.matmul(left, right), shape), labels)


def _drop_unit_labels(p: P, operand: LabelledTensor, other: LabelledTensor) -> LabelledTensor:
    unit_labels = [
        label
        for label, extent in zip(operand.labels, operand.x.shape, strict=True)
        if label in other.labels and extent == 1 and other.extent(label) != 1
    ]
    if not unit_labels:
        return operand
    remaining = [
        (label, n) for label, n in zip(operand.labels, operand.x.shape, strict=True) if label not in unit_labels
    ]
    return LabelledTensor(p.reshape(operand.x, tuple(n for _, n in remaining)), tuple(label for label, _ in remaining))


def _transpose_to(p: P, operand: LabelledTensor, labels: Sequence[str]) -> T:
    perm = [operand.labels.index(label) for label in labels]
    return operand.x if perm == list(range(len(perm))) else p.transpose(operand.x, perm)


def _as_matrices(p: P, operand: LabelledTensor, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str]) -> T:
    """Reshape to a batch of matrices, merging the row axes and the column axes."""
    x = _transpose_to(p, operand, [*batch, *rows, *columns])
    if len(rows) == len(columns) == 1:
        return x
    depth, split = len(batch), len(batch) + len(rows)
    return p.reshape(x, (*x.shape[:depth], element_count(x.shape[depth:split]), element_count(x.shape[split:])))
