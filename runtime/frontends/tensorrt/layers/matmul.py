"""Products of matrices and vectors, and einsum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ....graph import Dim, TensorType, Value
from ..enums import LayerType, MatrixOperation
from ..layer import ILayer, ITensor, NetworkBase
from ..lowering_scope import LoweringScope
from ..script_location import argument_error
from .argument_checks import checked_rank, require_dtype_kind, same_types_check, sizes_differ, type_and_rank_check
from .elementwise import broadcast
from .network_methods import TENSORS, Parameter, network_method, unchecked

_NONE, _TRANSPOSE, _VECTOR = MatrixOperation.NONE, MatrixOperation.TRANSPOSE, MatrixOperation.VECTOR


@network_method(
    "add_matrix_multiply",
    "A product of matrices or vectors.",
    "input0",
    op0=MatrixOperation,
    input1=ITensor,
    op1=Parameter(MatrixOperation, label="op1"),
)
class IMatrixMultiplyLayer(ILayer, type=LayerType.MATRIX_MULTIPLY, kind="Matrix Multiply"):
    """A product of matrices, or of vectors, in the last axes; the axes before them are batches."""

    CHECKS = (same_types_check(),)

    op0: MatrixOperation = _NONE
    op1: MatrixOperation = _NONE

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        for k, (kind, op) in enumerate(zip(types, (self.op0, self.op1), strict=True)):
            require_dtype_kind(self, k, kind, "float")
            checked_rank(self, k, kind, 1 if op is _VECTOR else 2)
        a, b = types
        if a.shape is None or b.shape is None:
            return [TensorType(a.dtype)]
        batches_a, rows = self._batch_and_matrix_shape(a.shape, self.op0)
        batches_b, columns = self._batch_and_matrix_shape(b.shape, self.op1)
        inner_a, inner_b = rows[-1], columns[0]
        batches = broadcast(batches_a, batches_b)
        if batches is None:
            raise self.error(
                f"the axes before the matrices do not fit: {a.shape_text()} of {self.required_input(0)} and"
                f" {b.shape_text()} of {self.required_input(1)} must have as many of them, with sizes that"
                " are equal or 1"
            )
        if sizes_differ(inner_a, inner_b):
            raise self.error(
                f"{a.shape_text()} of {self.required_input(0)} ({self.op0.name}) and {b.shape_text()} of"
                f" {self.required_input(1)} ({self.op1.name}) cannot be multiplied: {inner_a} columns meet"
                f" {inner_b} rows"
            )
        return [TensorType(a.dtype, (*batches, *rows[:-1], *columns[1:]))]

    @staticmethod
    def _batch_and_matrix_shape(shape: Sequence[Dim], op: MatrixOperation) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
        """The sizes of the batches, and those of the matrix or vector after its transposition."""
        if op is _VECTOR:
            return tuple(shape[:-1]), (shape[-1],)
        last = (shape[-2], shape[-1]) if op is _NONE else (shape[-1], shape[-2])
        return tuple(shape[:-2]), last

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        operands: list[Value | None] = []
        squeezed: list[int] = []
        ranks = [len(self.required_input(k).type.shape or ()) for k in range(2)]
        # In NumPy, a tensor of rank 1 is a vector; a batch of vectors has to become matrices.
        is_vector = [op is _VECTOR and rank == 1 for op, rank in zip((self.op0, self.op1), ranks, strict=True)]
        for k, (value, op) in enumerate(zip(inputs, (self.op0, self.op1), strict=True)):
            if op is _TRANSPOSE:
                order = [*range(ranks[k] - 2), ranks[k] - 1, ranks[k] - 2]
                value = scope.op("Transpose", value, perm=order)
            elif op is _VECTOR and not is_vector[k]:
                value = scope.op("Unsqueeze", value, scope.int64_constant([-2 if k == 0 else -1]))
                squeezed.append(-2 if k == 0 else -1)
            operands.append(value)
        product = scope.op("MatMul", *operands)
        if squeezed:
            # Squeeze the row first: the column is then still the last axis.
            product = scope.op("Squeeze", product, scope.int64_constant(squeezed))
        return [product]


@network_method(
    "add_einsum",
    "Products and sums by an equation.",
    inputs=Parameter(TENSORS, label="add_einsum"),
    equation=Parameter(str, check=unchecked),
)
class IEinsumLayer(ILayer, type=LayerType.EINSUM, operator="Einsum", attributes=("equation",)):
    """Products and sums by an equation."""

    CHECKS = (same_types_check(), type_and_rank_check(0, "float"))

    equation: str = ""

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor], equation: Any) -> None:
        if not isinstance(equation, str) or not inputs:
            raise argument_error(f"add_einsum takes tensors and an equation such as 'ij,jk->ik', not {equation!r}")
        super().__init__(network, inputs, equation=equation)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        operands, arrow, result = self.equation.replace(" ", "").partition("->")
        terms = operands.split(",")
        if len(terms) != len(types) or not re.fullmatch(r"(?:[a-z]|\.\.\.|,)*", operands + result):
            raise self.error(
                f"its equation '{self.equation}' needs one term of lower-case letters for each of its"
                f" {len(types)} inputs"
            )
        sizes: dict[str, Dim] = {}
        ellipsis: tuple[Dim, ...] = ()
        for k, (term, kind) in enumerate(zip(terms, types, strict=True)):
            if kind.shape is None:
                return [TensorType(types[0].dtype)]
            ellipsis = self._bind_labels(term, k, kind, sizes, ellipsis)
        letters = result if arrow else self._implicit_output_term(terms)
        sizes_out: list[Dim] = []
        for label in re.findall(r"[a-z]|\.\.\.", letters):
            if label != "..." and label not in sizes:
                raise self.error(f"its equation '{self.equation}' has '{label}' in the result alone")
            sizes_out += ellipsis if label == "..." else [sizes[label]]
        return [TensorType(types[0].dtype, tuple(sizes_out))]

    def _implicit_output_term(self, terms: Sequence[str]) -> str:
        letters = "".join(terms).replace(".", "")
        dots = "..." if any("..." in term for term in terms) else ""
        return dots + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))

    def _bind_labels(
        self, term: str, k: int, kind: TensorType, sizes: dict[str, Dim], ellipsis: tuple[Dim, ...]
    ) -> tuple[Dim, ...]:
        """Bind the labels of a term to sizes; returns the sizes of the ellipsis."""
        shape = list(kind.shape or ())
        labels = re.findall(r"[a-z]|\.\.\.", term)
        label_count = len(labels) - labels.count("...")
        if len(shape) < label_count or (len(shape) > label_count and "..." not in labels):
            raise self.error(
                f"'{term}' in its equation names {label_count} axes, and {self.required_input(k)} has the shape "
                f"{kind.shape_text()}"
            )
        for label in labels:
            if label == "...":
                covered = tuple(shape[: len(shape) - (label_count - labels.index(label))])
                del shape[: len(covered)]
                longer, shorter = (covered, ellipsis) if len(covered) >= len(ellipsis) else (ellipsis, covered)
                ones: tuple[Dim, ...] = (1,) * (len(longer) - len(shorter))
                combined = broadcast(longer, (*ones, *shorter))
                ellipsis = longer if combined is None else combined
                continue
            size = shape.pop(0)
            known = sizes.setdefault(label, size)
            if sizes_differ(size, known):
                raise self.error(f"'{label}' in its equation '{self.equation}' is {known} and {size}")
        return ellipsis
