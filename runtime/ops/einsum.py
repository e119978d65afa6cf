"""Einsum: an equation becomes transposes, which cost nothing, products of matrices, and sums.

Inputs are taken two at a time, from the left. Of two, labels that nobody asks for afterwards are summed: in both, as
the inner dimension of a product; in one alone, before it.
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

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
#: Labels of a tensor's axes: letters, and numbers for what an ellipsis stands for, counted from the last one.
Labels = tuple[str, ...]


@record(frozen=True)
class LabelledTensor:
    """A tensor with a label for each axis, none twice."""

    x: T
    labels: Labels

    def extent(self, label: str) -> Any:
        return self.x.shape[self.labels.index(label)]


@onnx("Einsum", since=12)
def einsum(p: P, *inputs: T, equation: str) -> T:
    terms, wanted = _parse_equation(decode_string(equation), [x.ndim for x in inputs])
    dtype = inputs[0].dtype
    inner = working_dtype(dtype)
    operands = [_take_diagonals(p, cast(p, x, inner), labels) for x, labels in zip(inputs, terms, strict=True)]
    _check_extents(operands, equation)
    result = operands[0]
    for k, other in enumerate(operands[1:], 2):
        later = {label for operand in operands[k:] for label in operand.labels}
        result = _contract(p, result, other, later.union(wanted))
    result = _sum_out(p, result, wanted)
    return cast(p, p.transpose(result.x, [result.labels.index(label) for label in wanted]), dtype)


@openvino("Einsum", since=7)
def openvino_einsum(p: P, *inputs: T, equation: str) -> T:
    return einsum(p, *inputs, equation=equation)


def _parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each input's axes, and of the result's.

    Raises:
        ModelError: the equation is none, or does not fit inputs of these ranks.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise ModelError(f"equation {equation!r} is about {len(parts)} inputs, and there are {len(ranks)}")
    terms = [_term_labels(part, rank, equation) for part, rank in zip(parts, ranks, strict=True)]
    hidden = max((sum(label.isdigit() for label in term) for term in terms), default=0)
    ellipsis = tuple(str(k) for k in range(hidden))[::-1]
    if arrow:
        named = "..." in right
        wanted = _term_labels(right, len(right) - 3 * named + len(ellipsis) * named, equation)
        if len(set(wanted)) != len(wanted):
            raise ModelError(f"equation {equation!r} names an axis of the result twice")
    else:
        letters = [label for term in terms for label in term if not label.isdigit()]
        wanted = (*ellipsis, *sorted(label for label in set(letters) if letters.count(label) == 1))
    unknown = set(wanted).difference(*terms)
    if unknown:
        raise ModelError(f"equation {equation!r}: no input has the axis '{min(unknown)}' of the result")
    return terms, wanted


def _term_labels(term: str, rank: int, equation: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    hidden = rank - len(letters)
    if not (letters.isascii() and (letters.isalpha() or not letters)) or hidden < 0 or (hidden and not dots):
        raise ModelError(f"equation {equation!r}: '{term}' does not fit a tensor of {rank} dimensions")
    return (*before, *tuple(str(k) for k in range(hidden))[::-1], *after)


def _take_diagonals(p: P, x: T, labels: Labels) -> LabelledTensor:
    """A label that stands at several axes of one input is that diagonal of it."""
    while len(set(labels)) != len(labels):
        label = next(name for name in labels if labels.count(name) > 1)
        first, second = [k for k, name in enumerate(labels) if name == label][:2]
        n = x.shape[first]
        if x.shape[second] != n:
            raise ModelError(f"the axes '{label}' of shape {x.shape} have no diagonal: their lengths differ")
        others = [k for k in range(x.ndim) if k not in (first, second)]
        rest = tuple(x.shape[k] for k in others)
        flat = p.reshape(p.transpose(x, [first, second, *others]), (n * n, *rest))
        x = p.slice(flat, [0] * (len(rest) + 1), [n + 1, *[1] * len(rest)], (n, *rest))
        labels = (label, *(labels[k] for k in others))
    return LabelledTensor(x, labels)


def _check_extents(operands: Iterable[LabelledTensor], equation: str) -> None:
    found: dict[str, Any] = {}
    for operand in operands:
        for label, extent in zip(operand.labels, operand.x.shape, strict=True):
            known = found.get(label, 1)
            if known == 1:
                found[label] = extent
            elif extent != known and extent != 1:
                raise ModelError(f"equation {equation!r}: axis '{label}' is of length {known} and of length {extent}")


def _sum_out(p: P, operand: LabelledTensor, kept: Iterable[str]) -> LabelledTensor:
    """Without the axes that are not among the kept."""
    axes = [k for k, label in enumerate(operand.labels) if label not in kept]
    if not axes:
        return operand
    return LabelledTensor(p.reduce(np.add, operand.x, axes, False), tuple(x for x in operand.labels if x in kept))


def _contract(p: P, a: LabelledTensor, b: LabelledTensor, needed: set[str]) -> LabelledTensor:
    """The product of two tensors, summed over what is not needed."""
    # An axis of length 1 beside a longer one of the same label only repeats what is there.
    a, b = (_drop_unit_labels(p, one, other) for one, other in ((a, b), (b, a)))
    a, b = (_sum_out(p, one, needed.union(other.labels)) for one, other in ((a, b), (b, a)))
    both = [label for label in a.labels if label in b.labels]
    stack = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    rows = [label for label in a.labels if label not in both]
    columns = [label for label in b.labels if label not in both]
    labels = (*stack, *rows, *columns)
    if not inner:
        # No sums: elementwise.
        left, right = _transpose_to(p, a, [*stack, *rows]), _transpose_to(p, b, [*stack, *columns])
        left = p.reshape(left, (*left.shape, *[1] * len(columns)))
        common = len(stack)
        right = p.reshape(right, (*right.shape[:common], *[1] * len(rows), *right.shape[common:]))
        function = np.logical_and if a.x.dtype == np.bool_ else np.multiply
        return LabelledTensor(p.map(function, left, right), labels)
    left = _as_matrices(p, a, stack, rows, inner)
    right = _as_matrices(p, b, stack, inner, columns)
    shape = (*(a.extent(x) for x in (*stack, *rows)), *(b.extent(x) for x in columns))
    return LabelledTensor(p.reshape(p.matmul(left, right), shape), labels)


def _drop_unit_labels(p: P, operand: LabelledTensor, other: LabelledTensor) -> LabelledTensor:
    ones = [
        label
        for label, extent in zip(operand.labels, operand.x.shape, strict=True)
        if label in other.labels and extent == 1 and other.extent(label) != 1
    ]
    if not ones:
        return operand
    kept = [(label, n) for label, n in zip(operand.labels, operand.x.shape, strict=True) if label not in ones]
    return LabelledTensor(p.reshape(operand.x, tuple(n for _, n in kept)), tuple(label for label, _ in kept))


def _transpose_to(p: P, operand: LabelledTensor, labels: Sequence[str]) -> T:
    perm = [operand.labels.index(label) for label in labels]
    return operand.x if perm == list(range(len(perm))) else p.transpose(operand.x, perm)


def _as_matrices(p: P, operand: LabelledTensor, stack: Sequence[str], rows: Sequence[str], columns: Sequence[str]) -> T:
    """A stack of matrices whose rows and columns are these axes, several of them taken as one."""
    x = _transpose_to(p, operand, [*stack, *rows, *columns])
    if len(rows) == len(columns) == 1:
        return x
    depth, middle = len(stack), len(stack) + len(rows)
    return p.reshape(x, (*x.shape[:depth], element_count(x.shape[depth:middle]), element_count(x.shape[middle:])))
