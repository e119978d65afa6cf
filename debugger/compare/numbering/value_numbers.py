"""Value numbering of two models in normal form: values have equal numbers iff they are provably the same.

Terms are hash-consed. What loops carry is numbered by optimistic partition refinement: carried values of one depth are
equal until their initial values or what becomes of them differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ....runtime.graph import Array, BackEdge, SlicedInput, Value
from ....runtime.graph.slicing import normalize_axis
from ..normal_form.operator_normalization import COMMUTATIVE_OPERATORS, digest
from ..normal_form.rules import cast_target_dtype, is_float
from ..normal_form.terms import LOOP_RESULTS, LoopPortTerms, LoweredGraph, Term
from ..running.value_comparison import dtype_kind

#: Operator -> attributes that all systems have with one meaning.
ATTRIBUTES_ACROSS_SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "Clip": ("min", "max"),
    "CumSum": ("exclusive", "reverse"),
    "Slice": ("starts", "ends"),
    "part": ("start", "end"),
}
#: The number of iterations whose computation a colour depends on.
_COLOR_ITERATIONS = 3


class ValueNumberTable:
    """Assigns the same number to equal keys."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number_for(self, key: Hashable) -> int:
        """The number of a key; a new key gets the next number."""
        return self._numbers.setdefault(key, len(self._numbers))


class NumberingOptions:
    """``same_system``: operators have the same attributes; ``narrow_dtype``: constants are rounded to it;
    ``exact_dtypes``: constants of different dtypes differ, though their numbers are equal."""

    def __init__(
        self, same_system: bool = True, narrow_dtype: np.dtype[Any] | None = None, exact_dtypes: bool = True
    ) -> None:
        self.same_system = same_system
        self.narrow_dtype = narrow_dtype
        self.exact_dtypes = exact_dtypes


class ValueNumbers:
    """The value numbers of two models. ``inputs``: pairs of their inputs."""

    def __init__(
        self,
        left: LoweredGraph,
        right: LoweredGraph,
        inputs: Sequence[tuple[Value, Value]],
        options: NumberingOptions | None = None,
    ) -> None:
        self.sides = left, right
        self.options = options or NumberingOptions()
        self.table = ValueNumberTable()
        self.numbers: dict[Term, int] = {}
        self._digests: dict[Term, Hashable] = {}
        self._input_keys: dict[Value, Hashable] = {}
        for k, (a, b) in enumerate(inputs):
            self._input_keys[a] = self._input_keys[b] = ("input", k)
        self._loops = [terms for side in self.sides for terms in side.loops.values()]
        self._loop_terms = {outer: terms for terms in self._loops for outer in terms.outer.values()}
        self._refine_classes()

    def equal(self, left: Term | None, right: Term | None) -> bool:
        """Whether two terms are provably the same."""
        if left is None or right is None:
            return left is right
        return self.numbers.get(left, -1) == self.numbers.get(right, -2)

    def constant_key(self, term: Term) -> Hashable:
        """The key of a constant; its data may be missing."""
        if term.data is None and term.value is not None and term.operator == "constant":
            return "constant without data", term.value.name, term.shape
        if term.data is None:
            return "constant", id(term)
        if term not in self._digests:
            data = self._round_to_narrow(term.data)
            shape: tuple[int, ...] = data.shape
            if not self.options.same_system:
                shape = tuple(dim for dim in shape if dim != 1)
            dtype = term.data.dtype if self.options.exact_dtypes else dtype_kind(term.data.dtype)
            self._digests[term] = "constant", dtype, shape, digest(data)
        return self._digests[term]

    def _round_to_narrow(self, data: Array) -> Array:
        """Round a constant to the narrower type; scalars that would vanish or overflow stay unchanged."""
        narrow = self.options.narrow_dtype
        if narrow is None or dtype_kind(data.dtype) != "f":
            return data
        with np.errstate(all="ignore"):
            rounded = data.astype(narrow)
        lost = data.size == 1 and (not rounded.any() or not np.isfinite(rounded.astype(np.float64)).all())
        return data if lost else rounded

    def local_computation_colors(self, with_initial: bool = False) -> Mapping[BackEdge, int]:
        """Colours of carried values by their computation in a few iterations, whatever they begin with."""
        saved = self.numbers
        classes: dict[Any, int] = {}
        for terms in self._loops:
            for edge, initial in terms.initials.items():
                key = saved[initial] if with_initial else None
                is_kept = terms.results[edge] is terms.params[edge]
                classes[edge] = self.table.number_for(("colour", terms.depth, is_kept, key))
        conditions = {terms.loop: self.table.number_for(("condition", terms.depth)) for terms in self._loops}
        for _ in range(_COLOR_ITERATIONS):
            self._number_terms(classes | conditions)
            classes = {
                edge: self.table.number_for(("colour", classes[edge], self.numbers[terms.results[edge]]))
                for terms in self._loops
                for edge in terms.results
            }
        self.numbers = saved
        return classes

    # -- partition refinement

    def _refine_classes(self) -> None:
        """Number the terms: carried values of one depth are one class, which is split until nothing changes."""
        classes: dict[Any, int] = {}
        for terms in self._loops:
            start = self.table.number_for(("carried", terms.depth))
            classes.update(dict.fromkeys(terms.params, start))
            classes[terms.loop] = self.table.number_for(("condition", terms.depth))
        count = 0
        while True:
            self._number_terms(classes)
            if len(set(classes.values())) == count:
                return
            count = len(set(classes.values()))
            classes = self._split_classes(classes)

    def _split_classes(self, classes: Mapping[Any, int]) -> dict[Any, int]:
        split: dict[Any, int] = {}
        for terms in self._loops:
            for edge, result in terms.results.items():
                sliced = edge.initial.start if isinstance(edge.initial, SlicedInput) else None
                key = classes[edge], self.numbers[terms.initials[edge]], sliced, self.numbers[result]
                split[edge] = self.table.number_for(("carried", terms.depth, *key))
            initial, result_condition = (
                self._number_or_minus_one(terms.initial_condition),
                self._number_or_minus_one(terms.condition),
            )
            split[terms.loop] = self.table.number_for(
                ("condition", terms.depth, classes[terms.loop], initial, result_condition)
            )
        return split

    def _number_or_minus_one(self, term: Term | None) -> int:
        return -1 if term is None else self.numbers[term]

    def _number_terms(self, classes: Mapping[Any, int]) -> None:
        self.numbers = {}
        for side in self.sides:
            for term in side.terms:
                self.numbers[term] = self.table.number_for(self._term_key(term, classes))

    def _term_key(self, term: Term, classes: Mapping[Any, int]) -> Hashable:
        if term.is_constant:
            return self.constant_key(term)
        if term.operator in ("carried", "condition input"):
            return "class", classes[term.port]
        if term.operator == "input":
            assert term.value is not None
            return self._input_keys.get(term.value, ("input", id(term)))
        if term.operator == "iteration":
            return "iteration", term.port
        operands = [self._operand_number(operand) for operand in term.operands]
        if term.operator == "slice":
            assert term.operands[0] is not None
            return "slice", operands[0], slice_geometry(term.port, term.operands[0].shape)
        if term.operator in LOOP_RESULTS:
            terms = self._loop_terms[term]
            return term.operator, operands[0], self._loop_result_key(term, terms), self._loop_control_key(terms)
        if term.operator == "If":
            return "If", operands[0], tuple(self._operand_number(result) for result in term.port)
        if term.operator in COMMUTATIVE_OPERATORS:
            operands.sort()
        return term.operator, self.attributes(term), term.index, tuple(operands)

    def attributes(self, term: Term) -> tuple[tuple[str, Hashable], ...]:
        """The attributes of a term, as far as both systems write them alike."""
        if term.operator == "Cast" and self.options.narrow_dtype is not None and is_float(cast_target_dtype(term)):
            return ()  # each model converts to its own float type
        if self.options.same_system:
            return term.attributes
        names = ATTRIBUTES_ACROSS_SYSTEMS.get(term.operator, ())
        numbers = ((name, _numbers(value)) for name, value in term.attributes if name in names)
        return tuple((name, number) for name, number in numbers if number != 0 or term.operator == "Clip")

    def _operand_number(self, term: Term | None) -> int:
        if term is None:
            return -1
        if term not in self.numbers:  # a constant that a rule made
            self.numbers[term] = self.table.number_for(
                self.constant_key(term) if term.is_constant else ("unknown", id(term))
            )
        return self.numbers[term]

    def _loop_result_key(self, term: Term, terms: LoopPortTerms) -> Hashable:
        port = term.port
        if term.operator == "last":
            edge = terms.loop.back_edge_for(port)
            return None if edge is None else self.numbers[terms.initials[edge]]
        length = terms.lengths.get(port)
        number = -1 if length is None else self.numbers.get(length, -2)
        return port.axis, port.stack, port.reverse, number

    def _loop_control_key(self, terms: LoopPortTerms) -> Hashable:
        """What decides how many iterations a loop runs."""
        loop = terms.loop
        slices = sorted(self.numbers[term] for term in terms.slices.values()) if loop.counted_by_slices else ()
        condition = self._number_or_minus_one(terms.condition) if loop.condition is not None else -1
        return (
            self._number_or_minus_one(terms.trip_count),
            self._number_or_minus_one(terms.initial_condition),
            condition,
            tuple(slices),
            loop.fixed_trips,
            loop.condition_node_count is not None,
        )


def _numbers(value: Hashable) -> Hashable:
    """An attribute as numbers: systems differ in their types."""
    return tuple(map(_numbers, value)) if isinstance(value, tuple) else float(value)  # type: ignore[arg-type]


#: The attributes of a slice, as ``slice_geometry`` orders them.
_SLICE_FIELDS = ("axis", "start", "end", "stride", "part_size", "from_trip_count")


def slice_geometry(port: SlicedInput, shape: Sequence[Any] | None) -> tuple[int, ...]:
    """How a tensor is sliced: axis, start, end, stride, size of a part, counted from the front where its shape is
    known."""
    axis = port.axis if shape is None else normalize_axis(port.axis, len(shape))
    dim = shape[axis] if shape is not None and 0 <= axis < len(shape) else None
    start, end = port.start, port.end
    if isinstance(dim, int):
        start, end = (dim + 1 + index if index < 0 else index for index in (start, end))
    return axis, start, end, port.stride, port.part_size, int(port.from_trip_count)


def changed_slice_fields(
    left: SlicedInput, right: SlicedInput, shapes: tuple[Sequence[Any] | None, Sequence[Any] | None]
) -> list[str]:
    """The attributes in which two slices differ, however they are written: also of tensors of two lengths, the same
    attributes are the same slice."""
    counted = slice_geometry(left, shapes[0]), slice_geometry(right, shapes[1])
    written = slice_geometry(left, None), slice_geometry(right, None)
    fields = zip(_SLICE_FIELDS, zip(*counted, strict=True), zip(*written, strict=True), strict=True)
    return [name for name, (a, b), (c, d) in fields if a != b and c != d]
