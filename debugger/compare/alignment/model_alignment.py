"""Aligns two models: their inputs, loops, ports and nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ....runtime.graph import BackEdge, Graph, If, Loop, Node, Operation, SlicedInput, Value, bodies, loops
from ....runtime.graph.graph_json import identical_value_pairs
from ...describe.node_source_lines import CodeLines
from ...describe.termination import carried_condition
from ..causes.narrow_type_headroom import dtype_by_name
from ..normal_form.lowering import constants_without_data, lower
from ..normal_form.operator_normalization import attributes_without_defaults
from ..normal_form.terms import LoopPortTerms, Term
from ..numbering.value_numbers import NumberingOptions, ValueNumbers, changed_slice_fields
from ..running.value_comparison import Tolerance
from .node_alignment import NodeAlignment
from .numeric_types import QUANTIZED_PEAK_TOLERANCE, have_different_float_types, narrower_side, quantized_side
from .port_alignment import LoopAlignment, best_matches, equal_name_score, type_fit_score
from .term_pairs import ScopePair, TermPairs

#: Pairs of results with their role.
_Ends = list[tuple[Term, Term, Hashable]]
#: How often terms of two graphs are aligned, with what was found inside them.
_PASSES = 3


class AlignedModels:
    """Two models and what corresponds to what. ``make_pairs``: gives the pairs of terms and ports, once something asks
    for them; ``loops``: the pairs of loops; ``narrower_side``: the side with the narrower float type, and that type;
    ``quantized_side``: that of the model in 8 bits."""

    def __init__(
        self,
        graphs: tuple[Graph, Graph],
        make_pairs: Callable[[], TermPairs],
        loops: dict[Loop, LoopAlignment],
        same_system: bool = True,
        different_float_types: bool = False,
        narrower: tuple[int, str] | None = None,
        quantized: int | None = None,
    ) -> None:
        self.graphs, self.loops, self._make_pairs = graphs, loops, make_pairs
        self.same_system, self.different_float_types = same_system, different_float_types
        self.narrower_side, self.quantized_side = narrower, quantized
        self.code = CodeLines(graphs[0]), CodeLines(graphs[1])

    @cached_property
    def pairs(self) -> TermPairs:
        """The pairs of terms and ports."""
        return self._make_pairs()

    @property
    def numbers(self) -> ValueNumbers:
        """The value numbers of both models."""
        return self.pairs.numbers

    @property
    def is_bit_exact(self) -> bool:
        """Whether the same computation is bit-identical on both sides."""
        return self.same_system and not self.different_float_types and self.quantized_side is None

    def adapt_tolerance(self, base: Tolerance) -> Tolerance:
        """The tolerance for the two models: that of the narrower float type, also for values widened again."""
        if self.quantized_side is not None and base.rtol is None and base.atol is None:
            base = replace(base, peak_fraction=max(base.peak_fraction, QUANTIZED_PEAK_TOLERANCE))
        return base if self.narrower_side is None else replace(base, narrowest_dtype=self.narrower_side[1])

    def counterpart(self, side: int, value: Value) -> Value | None:
        """The value of the other side that corresponds to one of ``side``; None if there is none."""
        twin = self.pairs.twins.get(self.pairs.sides[side].by_value[value])
        return None if twin is None else twin.value

    def changed_attributes(self, left: Operation, right: Operation) -> list[str]:
        """The names of the attributes that differ."""
        a, b = (
            attributes_without_defaults(node, side.graph.system)
            for side, node in zip(self.pairs.sides, (left, right), strict=True)
        )
        return [name for name in sorted({*a, *b}) if a.get(name) != b.get(name)]

    def source_operator_pair(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The operators that two nodes were expanded from; None if one of them was not expanded."""
        a, b = (side.opened.get(node) for side, node in zip(self.pairs.sides, (left, right), strict=True))
        return (a, b) if isinstance(a, Operation) and isinstance(b, Operation) else None


class SelfAlignment(AlignedModels):
    """A model and itself."""

    def __init__(self, graph: Graph) -> None:
        lowered = lower(graph)
        super().__init__((graph, graph), lambda: TermPairs(lowered, lowered, ValueNumbers(lowered, lowered, [])), {})


class IdenticalModels(AlignedModels):
    """Two identical graphs: what corresponds has one position. ``values``: left -> right."""

    def __init__(self, left: Graph, right: Graph, values: Mapping[Value, Value]) -> None:
        self.values = values
        matches = {
            a: LoopAlignment(
                a,
                b,
                [(item, other, "name") for item, other in zip(a.back_edges, b.back_edges, strict=True)],
                [(item, other, "name") for item, other in zip(a.sliced_inputs, b.sliced_inputs, strict=True)],
                [(item, other, "name") for item, other in zip(a.scan_outputs, b.scan_outputs, strict=True)],
                [(item, other, True) for item, other in zip(a.last_values, b.last_values, strict=True)],
            )
            for a, b in zip(loops(left), loops(right), strict=True)
        }
        loop_pairs = [(a, pair.right) for a, pair in matches.items()]
        super().__init__((left, right), lambda: ModelAlignment(left, right, loop_pairs).pairs, matches)


def align_models(
    left: Graph, right: Graph, loop_pairs: Sequence[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
) -> IdenticalModels | ModelAlignment:
    """Align two models, of which pairs of loops are known.

    Args:
        left, right: the models.
        loop_pairs: the pairs of loops.
        names: of values of the left model those in the right one.
    """
    values = None if names else identical_value_pairs(left, right)
    if values is not None:
        identical = IdenticalModels(left, right, values)
        if all(identical.loops[a].right is b for a, b in loop_pairs):
            return identical
    return ModelAlignment(left, right, loop_pairs, names)


class ModelAlignment(AlignedModels):
    """The alignment of two models. ``loop_pairs``: the pairs of loops; ``names``: of values of the left model those in
    the right one."""

    def __init__(
        self,
        left: Graph,
        right: Graph,
        loop_pairs: Sequence[tuple[Loop, Loop]],
        names: Mapping[str, str] | None = None,
    ) -> None:
        same_system = left.system is right.system
        ignore_casts = have_different_float_types(left, right)
        narrow, quantized = narrower_side(left, right), quantized_side(left, right)
        self.names = names or {}
        self.inputs = _match_inputs(left, right, self.names)
        dtype = None if narrow is None else dtype_by_name(narrow[1])
        exact = same_system and not ignore_casts and quantized is None
        options = NumberingOptions(same_system, dtype, exact)
        unknown = constants_without_data(left) | constants_without_data(right)
        settings = ignore_casts, not same_system, unknown, quantized is not None
        lowered = [lower(graph, *settings) for graph in (left, right)]
        numbers = ValueNumbers(lowered[0], lowered[1], self.inputs, options)
        pairs = TermPairs(lowered[0], lowered[1], numbers)
        super().__init__((left, right), lambda: pairs, pairs.loops, same_system, ignore_casts, narrow, quantized)
        self._loop_pairs = dict(loop_pairs)
        self.exact_colors = self.numbers.local_computation_colors()
        self.initial_colors = self.numbers.local_computation_colors(with_initial=True)
        #: Ifs whose branches are aligned crosswise, by the left one.
        self.swapped: set[If] = set()
        self._aligned_ifs: set[If] = set()
        for a, b in self.inputs:
            self._pair_terms(self.pairs.left.by_value[a], self.pairs.right.by_value[b])
        outputs = zip(self.pairs.left.outputs[left], self.pairs.right.outputs[right], strict=False)
        self._align_graphs(left, right, [(a, b, ("output", k)) for k, (a, b) in enumerate(outputs)])

    def _pair_terms(self, left: Term, right: Term) -> None:
        self.pairs.pair(left, right)
        self.pairs.assign_same_identity(left, right)

    # -- graphs

    def _align_graphs(self, left: Graph, right: Graph, ends: _Ends, loop_pair: LoopAlignment | None = None) -> None:
        """Align two graphs and what is inside them."""
        scope = ScopePair(left, right, ([], []))
        self.pairs.scopes.append(scope)
        for a, b, role in ends:
            self.pairs.add_use(a, role, ("end", role))
            self.pairs.add_use(b, role, ("end", role))
        for step in range(_PASSES):
            nodes = NodeAlignment(self.pairs, scope)
            nodes.pair_equal_terms()
            self._align_ifs(left, only_equal=True)
            self._align_loops(left, right, nodes.signatures)
            self.pairs.forget_derived_identities()
            nodes.pair_equal_terms()
            self._align_ifs(left)
            if loop_pair is not None and not step:
                self._match_scans(loop_pair)
            count = len(self.pairs.twins)
            nodes = NodeAlignment(self.pairs, scope)
            nodes.pair_similar_terms()
            self._align_ifs(left)
            if len(self.pairs.twins) == count:
                break
        if loop_pair is not None:
            self._match_last_values(loop_pair)

    def _align_ifs(self, left: Graph, only_equal: bool = False) -> None:
        """Align paired Ifs. ``only_equal``: those with equal branches, in either order. Other branches may become equal
        when the loops whose results they read are aligned."""
        for node in left.nodes:
            if isinstance(node, If) and node not in self._aligned_ifs:
                terms = [self.pairs.left.by_value[value] for value in node.outputs if value is not None]
                twin = next((self.pairs.twins[term] for term in terms if term in self.pairs.twins), None)
                if twin is not None and isinstance(twin.node, If):
                    self._align_branches(node, twin.node, only_equal)

    def _align_branches(self, left: If, right: If, only_equal: bool) -> None:
        lefts, rights = (
            [(graph, side.outputs[graph]) for _, graph in bodies(node)]
            for side, node in zip(self.pairs.sides, (left, right), strict=True)
        )
        keys = [[[self.pairs.local_identity(term) for term in terms] for _, terms in side] for side in (lefts, rights)]
        is_swapped = keys[0] != keys[1] and keys[0] == keys[1][::-1]
        if only_equal and keys[0] != keys[1] and not is_swapped:
            return
        self._aligned_ifs.add(left)
        if is_swapped:
            self.swapped.add(left)
            rights.reverse()
        for k, ((graph, terms), (other_graph, others)) in enumerate(zip(lefts, rights, strict=True)):
            ends = [(a, b, ("branch", id(left), k, j)) for j, (a, b) in enumerate(zip(terms, others, strict=False))]
            self._align_graphs(graph, other_graph, ends)  # type: ignore[arg-type]

    # -- loops

    def _align_loops(self, left: Graph, right: Graph, uses: Sequence[Mapping[Term, int]]) -> None:
        for loop in [node for node in left.nodes if isinstance(node, Loop) and node not in self.pairs.loops]:
            twin = self._loop_pairs.get(loop)
            if twin is not None and twin in right.nodes:
                self._align_loop(loop, twin, uses)

    def _align_loop(self, left: Loop, right: Loop, uses: Sequence[Mapping[Term, int]]) -> None:
        """Align two loops; ``uses``: the signatures of the uses of their results."""
        pair = self.pairs.loops[left] = LoopAlignment(left, right)
        lefts, rights = self.pairs.left.loops[left], self.pairs.right.loops[right]
        label = "loop", id(left)
        for a, b, port in (
            (lefts.trip_count, rights.trip_count, "trip count"),
            (lefts.initial_condition, rights.initial_condition, "initial condition"),
        ):
            if a is not None and b is not None:
                self._add_end_uses(a, b, (*label, port))
        if left.iteration is not None and right.iteration is not None:
            self._pair_terms(self.pairs.left.by_value[left.iteration], self.pairs.right.by_value[right.iteration])
        skipped = self._match_conditions(pair)
        pair.slices = best_matches(
            left.sliced_inputs, right.sliced_inputs, lambda port: port.inner.name, self._slice_fit_score, self.names
        )
        for k, (sliced, other_sliced, _) in enumerate(pair.slices):
            self._add_end_uses(
                self._left_term(sliced.outer), self._right_term(other_sliced.outer), (*label, "slice", k)
            )
            if sliced in lefts.slices and other_sliced in rights.slices:
                self._pair_terms(lefts.slices[sliced], rights.slices[other_sliced])
        edges = [[edge for edge in loop.back_edges if edge not in skipped] for loop in (left, right)]
        similarity = _EdgeSimilarity(self, (left, right), uses)
        pair.edges = best_matches(edges[0], edges[1], lambda edge: edge.param.name, similarity.score, self.names)
        self._record_one_sided_values(pair, skipped)
        ends: _Ends = []
        for k, (edge, other_edge, _) in enumerate(pair.edges):
            self._pair_terms(lefts.params[edge], rights.params[other_edge])
            self._add_end_uses(lefts.initials[edge], rights.initials[other_edge], (*label, "initial value", k))
            ends.append((lefts.results[edge], rights.results[other_edge], (*label, "back edge", k)))
        conditions = self._next_condition_term(lefts, skipped), self._next_condition_term(rights, skipped)
        if conditions[0] is not None and conditions[1] is not None:
            ends.append((conditions[0], conditions[1], (*label, "condition")))
        self._align_graphs(left.body, right.body, ends, pair)

    def _left_term(self, value: Value) -> Term:
        return self.pairs.left.by_value[value]

    def _right_term(self, value: Value) -> Term:
        return self.pairs.right.by_value[value]

    def _add_end_uses(self, left: Term, right: Term, role: Hashable) -> None:
        self.pairs.add_use(left, role, ("end", role))
        self.pairs.add_use(right, role, ("end", role))

    def _match_conditions(self, pair: LoopAlignment) -> list[BackEdge]:
        """Pair the conditions that the bodies receive: in an IR a carried value, otherwise a parameter of its own."""
        sides = [self.pairs.left.loops[pair.left], self.pairs.right.loops[pair.right]]
        inputs = [terms.condition_input for terms in sides]
        tested_first = [carried_condition(loop) for loop in (pair.left, pair.right)]
        if (tested_first[0] is None) is not (tested_first[1] is None):
            return self._match_carried_condition(pair, tested_first)
        edges = [_condition_edge(terms, received) for terms, received in zip(sides, reversed(inputs), strict=True)]
        if inputs[0] is not None and inputs[1] is not None:
            self._pair_terms(inputs[0], inputs[1])
            return []
        for k in (0, 1):
            edge, received = edges[k], inputs[1 - k]
            if inputs[k] is None and edge is not None and received is not None:
                param = sides[k].params[edge]
                self._pair_terms(*((param, received) if k == 0 else (received, param)))
                assert received.value is not None
                names = edge.param.name, received.value.name
                pair.condition = names if k == 0 else (names[1], names[0])
                return [edge]
        return []

    def _match_carried_condition(self, pair: LoopAlignment, edges: Sequence[BackEdge | None]) -> list[BackEdge]:
        """Pair a condition that is tested before each iteration, and therefore carried, with that of the other loop."""
        k = 0 if edges[0] is not None else 1
        edge, loop = edges[k], (pair.left, pair.right)[1 - k]
        condition = loop.condition or loop.ignored_condition
        if edge is None or condition is None:
            return []
        terms = self.pairs.sides[k].loops[(pair.left, pair.right)[k]]
        received = self.pairs.sides[1 - k].loops[loop].condition_input
        if received is not None:
            param = terms.params[edge]
            self._pair_terms(*((param, received) if k == 0 else (received, param)))
        names = edge.param.name, condition.name
        pair.condition = names if k == 0 else (names[1], names[0])
        return [edge]

    def _next_condition_term(self, terms: LoopPortTerms, skipped: Sequence[BackEdge]) -> Term | None:
        """What decides whether another iteration follows; of a condition that is carried, what it becomes."""
        carried = next((edge for edge in skipped if terms.params.get(edge) is terms.condition), None)
        return terms.condition if carried is None else terms.results[carried]

    def _record_one_sided_values(self, pair: LoopAlignment, skipped: Sequence[BackEdge]) -> None:
        """Record carried conditions and counters that the other side does not carry."""
        for k, (side, loop) in enumerate(zip(self.pairs.sides, (pair.left, pair.right), strict=True)):
            paired = {(a, b)[k] for a, b, _ in pair.edges}
            unpaired = [edge for edge in loop.back_edges if edge not in paired and edge not in skipped]
            terms = side.loops[loop]
            pair.one_sided[k].extend(edge.param.name for edge in unpaired if _is_condition_or_counter(terms, edge))

    def _slice_fit_score(self, left: SlicedInput, right: SlicedInput) -> float | None:
        fit = type_fit_score(left.outer, right.outer)
        a, b = self._left_term(left.outer), self._right_term(right.outer)
        same = not changed_slice_fields(left, right, (a.shape, b.shape))
        read = self.read_alike(left.inner, right.inner)
        # Two constants may hold the same by coincidence: that nothing reads a slice counts more.
        weight = 2.0 if a.is_constant else 3.0
        return None if fit is None else fit + weight * self.pairs.corresponds(a, b) + 2.6 * same + 2.5 * read

    def _match_scans(self, pair: LoopAlignment) -> None:
        """Pair scan outputs: by what they collect, then by position."""
        lefts, rights = self.pairs.left.loops[pair.left], self.pairs.right.loops[pair.right]
        positions = [{scan: k for k, scan in enumerate(loop.scan_outputs)} for loop in (pair.left, pair.right)]

        def fit(a: object, b: object) -> float | None:
            types = type_fit_score(a.result, b.result)  # type: ignore[attr-defined]
            same = self.pairs.corresponds(lefts.inner[a], rights.inner[b])
            uses = self.pairs.share_use(lefts.outer[a], rights.outer[b])
            position = positions[0][a] == positions[1][b]  # type: ignore[index]
            return None if types is None else types + 2.0 * same + 1.5 * uses + 0.5 * position

        pair.scans = best_matches(
            pair.left.scan_outputs, pair.right.scan_outputs, lambda scan: scan.outer.name, fit, self.names
        )
        for k, (scan, other, _) in enumerate(pair.scans):
            self._pair_terms(lefts.outer[scan], rights.outer[other])
            self._add_end_uses(lefts.inner[scan], rights.inner[other], ("loop", id(pair.left), "scan", k))

    def read_alike(self, left: Value, right: Value) -> bool:
        """Whether something reads both values, or neither."""
        read = self.pairs.terms_with_readers
        return (self._left_term(left) in read) is (self._right_term(right) in read)

    def _match_last_values(self, pair: LoopAlignment) -> None:
        """Pair last values: those of one carried value, then by use and position."""
        if pair.last_values:
            return
        edges = {a: b for a, b, _ in pair.edges}
        lefts, rights = self.pairs.left.loops[pair.left], self.pairs.right.loops[pair.right]
        positions = [{last: k for k, last in enumerate(loop.last_values)} for loop in (pair.left, pair.right)]

        def same_edge(a: object, b: object) -> bool:
            edge, other = pair.left.back_edge_for(a), pair.right.back_edge_for(b)  # type: ignore[arg-type]
            if edge is None or other is None:
                return self.pairs.corresponds(lefts.inner[a], rights.inner[b])
            return edges.get(edge) is other

        def fit(a: object, b: object) -> float | None:
            uses = self.pairs.share_use(lefts.outer[a], rights.outer[b])
            position = positions[0][a] == positions[1][b]  # type: ignore[index]
            same, read = same_edge(a, b), self.read_alike(a.outer, b.outer)  # type: ignore[attr-defined]
            return 2.0 * same + 1.5 * uses + 0.5 * position + read if same or uses or position else None

        lasts = best_matches(
            pair.left.last_values, pair.right.last_values, lambda last: last.outer.name, fit, self.names
        )
        pair.last_values = [(a, b, same_edge(a, b)) for a, b, _ in lasts]
        for a, b, _ in lasts:
            self._pair_terms(lefts.outer[a], rights.outer[b])


class _EdgeSimilarity:
    """How well the carried values of two loops fit: by their initial values, their results, and who reads the last."""

    def __init__(self, alignment: ModelAlignment, loops: tuple[Loop, Loop], uses: Sequence[Mapping[Term, int]]) -> None:
        self._alignment = alignment
        self._sides = alignment.pairs.sides
        self._edges = tuple(loop.back_edges for loop in loops)
        self._uses = tuple(
            _last_value_use_signatures(side.loops[loop].outer, loop, signatures)
            for side, loop, signatures in zip(self._sides, loops, uses, strict=True)
        )

    def score(self, left: BackEdge, right: BackEdge) -> float | None:
        """The similarity of two carried values; None if their types do not fit."""
        fits = type_fit_score(left.param, right.param), type_fit_score(left.result, right.result)
        if None in fits:
            return None
        exact, initial = self._alignment.exact_colors, self._alignment.initial_colors
        same_color = exact[left] == exact[right]
        same_initial = self._alignment.pairs.corresponds(
            self._initial_value_term(0, left), self._initial_value_term(1, right)
        )
        decisive = same_color or not self._color_occurs_elsewhere(exact, left, right)
        same_uses = decisive and self._uses[0].get(left) == self._uses[1].get(right) is not None
        rivals = same_color and same_initial and self._color_occurs_elsewhere(initial, left, right)
        read = self._alignment.read_alike(left.param, right.param)
        return (fits[0] or 0.0) + same_initial + 2.0 * same_color + same_uses + read - 1.5 * rivals

    def _initial_value_term(self, side: int, edge: BackEdge) -> Term:
        outer = edge.initial.outer if isinstance(edge.initial, SlicedInput) else edge.initial
        return self._sides[side].by_value[outer]

    def _color_occurs_elsewhere(self, colors: Mapping[BackEdge, int], left: BackEdge, right: BackEdge) -> bool:
        """Whether two values differ in colour, and either colour occurs on the other side."""
        sets = [{colors[edge] for edge in edges} for edges in self._edges]
        return colors[left] != colors[right] and (colors[left] in sets[1] or colors[right] in sets[0])


def _condition_edge(terms: LoopPortTerms, received: Term | None) -> BackEdge | None:
    """The back edge that carries the condition, which begins with the initial one; of several the one with the name of
    what the other body receives."""
    carrying = [edge for edge, result in terms.results.items() if terms.condition is result]
    edges = [
        edge for edge in carrying if terms.initials[edge] is terms.initial_condition or is_true(terms.initials[edge])
    ]
    name = "" if received is None or received.value is None else received.value.name
    return max(edges, key=lambda edge: equal_name_score(name, edge.param.name), default=None)


def is_true(term: Term) -> bool:
    """Whether a condition is constant and true."""
    return term.data is not None and term.data.size == 1 and bool(term.data.reshape(-1)[0])


def _is_condition_or_counter(terms: LoopPortTerms, edge: BackEdge) -> bool:
    """Whether a carried value is the condition or counts the iterations."""
    result, param = terms.results[edge], terms.params[edge]
    if terms.condition is not None and terms.loop.condition is not None and result is terms.condition:
        return True
    if result.operator != "+" or isinstance(edge.initial, SlicedInput):
        return False
    steps = [operand for operand in result.operands if operand is not param]
    return len(steps) == 1 and _is_constant_integer(terms.initials[edge], 0) and _is_constant_integer(steps[0], 1)


def _is_constant_integer(term: Term | None, number: int) -> bool:
    data = None if term is None else term.data
    return data is not None and data.dtype.kind in "iu" and data.size == 1 and int(data.reshape(-1)[0]) == number


def _last_value_use_signatures(
    outer: Mapping[object, Term], loop: Loop, signatures: Mapping[Term, int]
) -> dict[BackEdge, int]:
    """The uses of each carried value's last value."""
    uses: dict[BackEdge, int] = {}
    for last in loop.last_values:
        edge = loop.back_edge_for(last)
        if edge is not None and outer[last] in signatures:
            uses[edge] = signatures[outer[last]]
    return uses


def _match_inputs(left: Graph, right: Graph, names: Mapping[str, str]) -> list[tuple[Value, Value]]:
    """Pair the inputs of the models: by the given names, by name, then by position."""

    def fit(a: Value, b: Value) -> float | None:
        score = type_fit_score(a, b)
        return None if score is None else score + 2.0 * (a.name == b.name)

    return [(a, b) for a, b, _ in best_matches(left.inputs, right.inputs, lambda value: value.name, fit, names)]
