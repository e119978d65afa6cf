"""Finds the edits of two aligned models.

The terms of the right model are visited in order. Each has an identity that its operator and the identities of its
operands give. Where a pair has two identities there is an edit; after it, both count as one, so that what reads them
needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from ....runtime.errors import ExecutionError
from ....runtime.graph import MAIN, Array, Graph, If, Loop, Node, Operation, SlicedInput, Value, bodies
from ....runtime.graph.slicing import normalize_axis, part_geometry
from ...describe.condition_analysis import condition_slice
from ..edits import Edit, EditKind, EditPlace
from ..normal_form.operator_normalization import canonical_operator
from ..normal_form.rules import RESHAPES, cast_target_dtype, is_static, shape_when_reshaped
from ..normal_form.terms import LOOP_RESULTS, LoopPortTerms, Term
from ..numbering.value_numbers import ATTRIBUTES_ACROSS_SYSTEMS, changed_slice_fields
from ..report.constant_relations import describe_constant_relation
from ..running.value_comparison import Tolerance, compare
from .edit_texts import (
    EditTexts,
    Texts,
    back_edge_text,
    changed_constant_texts,
    condition_text,
    initial_text,
    last_value_text,
    operand_name,
    scan_length_text,
    scan_text,
    sliced_input_text,
    trip_count_text,
)
from .model_alignment import ModelAlignment, is_true
from .port_alignment import LoopAlignment, initial_outer_value
from .term_pairs import term_name

_QUANTIZED_ROUNDING = Tolerance(0.0, 0.0, peak_fraction=1 / 127)


class EditFinder:
    """Finds the edits of an alignment."""

    def __init__(self, alignment: ModelAlignment) -> None:
        self._alignment = alignment
        self._pairs = alignment.pairs
        self._same_system = alignment.numbers.options.same_system
        self._left_paths = _loop_paths_by_graph(self._pairs.left.graph)
        self._order = {term: k for k, term in enumerate((*self._pairs.left.terms, *self._pairs.right.terms))}
        self._same = self._pairs.same
        self._texts = EditTexts(self._pairs)
        self._edits: dict[tuple[Any, ...], tuple[int, Edit, list[EditPlace]]] = {}
        #: The place that is compared.
        self._place = EditPlace("", None, None)

    def find(self) -> list[Edit]:
        """All edits, in the order in which the left model runs."""
        self._pairs.clear_identities()
        operators = self._source_operator_pairs()
        self._shifted = {
            node
            for pair in self._pairs.loops.values()
            if (pair.left.condition_node_count is None) is not (pair.right.condition_node_count is None)
            for node in condition_slice(pair.left).nodes
        }
        for a, b in self._alignment.inputs:
            self._pairs.assign_same_identity(self._pairs.left.by_value[a], self._pairs.right.by_value[b])
        right_terms = set(self._pairs.right.terms)
        for left, right in list(self._pairs.twins.items()):
            if right in right_terms and (left.operator in LOOP_RESULTS or (left.is_leaf and not left.is_constant)):
                self._pairs.assign_same_identity(left, right)
        for right in self._pairs.right.terms:
            twin = self._pairs.twins.get(right)
            if twin is None or right.is_leaf or right.operator in LOOP_RESULTS:
                continue
            if twin in self._in_operators:
                self._pairs.assign_same_identity(twin, right)
            else:
                self._compare_terms(twin, right)
        for pair in self._pairs.loops.values():
            if pair.left not in self._left_operators:
                self._compare_loops(pair)
        for left_operator, right_operator in operators:
            self._compare_source_operators(left_operator, right_operator)
        outputs = zip(
            self._pairs.left.outputs[self._pairs.left.graph],
            self._pairs.right.outputs[self._pairs.right.graph],
            strict=False,
        )
        self._compare_outputs(list(outputs))
        ordered = sorted(self._edits.values(), key=lambda item: item[0])
        return _merge_repeated_edits(
            [replace(edit, places=tuple(dict.fromkeys(places))) for _, edit, places in ordered]
        )

    # -- operators that the graphs do not contain, since they were expanded

    def _source_operator_pairs(self) -> list[tuple[Operation, Operation]]:
        """Pairs of operators of one type that both models were expanded from; what is inside them is not compared."""
        left, right = self._pairs.sides
        candidates = [
            (a.node, b.node)
            for a, b in self._pairs.twins.items()
            if a in self._order and self._order[a] < len(left.terms)
        ]
        candidates += [(pair.left, pair.right) for pair in self._pairs.loops.values()]
        pairs: dict[Operation, Operation] = {}
        for node, other in candidates:
            a, b = left.opened.get(node), right.opened.get(other)  # type: ignore[arg-type]
            if isinstance(a, Operation) and isinstance(b, Operation) and a.op_type == b.op_type and self._same_system:
                pairs.setdefault(a, b)
        self._left_operators = {node for node, operator in left.opened.items() if operator in pairs}
        inside = {graph for node in self._left_operators for graph in _walk_inner_graphs(node)}
        self._in_operators = {term for term in left.terms if term.node in self._left_operators or term.scope in inside}
        return list(pairs.items())

    def _compare_source_operators(self, left: Operation, right: Operation) -> None:
        results = [
            (self._pairs.left.by_value[a], self._pairs.right.by_value[b])
            for a, b in zip(left.outputs, right.outputs, strict=False)
            if a in self._pairs.left.by_value and b in self._pairs.right.by_value
        ]
        # Each result is a place of an edit.
        for a, b in results:
            self._place = EditPlace("value", a.value, b.value, is_expanded=True)
            for name in self._alignment.changed_attributes(left, right):
                self._add_edit(EditKind.ATTRIBUTE, *results[0], (left, name), name)
            for k, values in enumerate(zip_longest(left.inputs, right.inputs)):
                operands = [
                    None if value is None else side.by_value.get(value)
                    for side, value in zip(self._pairs.sides, values, strict=True)
                ]
                self._compare_operand(operands[0], operands[1], results[0], EditKind.OPERAND, str(k))

    # -- nodes

    def _compare_terms(self, left: Term, right: Term) -> None:
        """The edits of a pair of terms; afterwards both count as one."""
        self._place = self._value_edit_place(left, right)
        if left.operator == "If" and right.operator == "If":
            self._compare_ifs(left, right)
        elif not (
            self._same(left, right) or self._have_same_source_nodes(left, right) or self._are_same_reshapes(left, right)
        ):
            self._compare_operations(left, right)
        self._pairs.assign_same_identity(left, right)

    def _value_edit_place(self, left: Term, right: Term) -> EditPlace:
        """The values that two terms compute. Of a term on the way to a value of its node it is that value, with what
        corresponds to it if the other model has a value for the term."""
        values: list[Value | None] = [_result_value(left), _result_value(right)]
        if (left.value is None) is not (right.value is None):
            side = 0 if left.value is None else 1
            result = values[side]
            twin = None if result is None else self._pairs.twins.get(self._pairs.sides[side].by_value[result])
            if twin is not None and twin.value is not None:
                values[1 - side] = twin.value
        return EditPlace("value", values[0], values[1])

    def _operand_pairs(self, left: Term, right: Term) -> list[tuple[Term | None, Term | None]]:
        """The operands of two terms; what two terms concatenate, of which one side concatenates some beforehand."""
        if left.operator == right.operator == "Concat" and not self._changed_attributes(left, right):
            parts = [list(self._flatten_concat_operands(term)) for term in (left, right)]
            if len(parts[0]) == len(parts[1]):
                return list(zip(*parts, strict=True))
        return list(self._pairs.operand_pairs(left, right))

    def _have_same_source_nodes(self, left: Term, right: Term, below: Term | None = None) -> bool:
        """Whether two nodes are written alike and read the same, or ``below``, though shapes that only one model
        declares have given them two normal forms."""
        a, b = self._written(0, left), self._written(1, right)
        if a is None or b is None or (a.operator, a.index) != (b.operator, b.index):
            return False
        attributes_known = self._same_system or a.operator in ATTRIBUTES_ACROSS_SYSTEMS
        if not (attributes_known and a.operands and len(a.operands) == len(b.operands)):
            return False
        operands = zip(a.operands, b.operands, strict=True)
        read_same = all((below is not None and below in pair) or self._same(*pair) for pair in operands)
        return read_same and not self._changed_attributes(a, b)

    def _are_same_reshapes(self, left: Term, right: Term) -> bool:
        """Whether two terms give one value the same shape, as far as one model declares shapes."""
        for side, term, other in ((0, left, right), (1, right, left)):
            base = other.operands[0] if other.operator in RESHAPES else None
            if base is None or not is_static(base.shape) or not is_static(other.shape):
                continue

            def is_base(operand: Term, base: Term = base, side: int = side) -> bool:
                return self._same(*((base, operand) if side else (operand, base)))

            if shape_when_reshaped(term, is_base, base.shape) == other.shape:
                return True
        return False

    def _written(self, side: int, term: Term) -> Term | None:
        """The term of a node before any rule was applied."""
        value = _result_value(term)
        return None if value is None else self._pairs.sides[side].written.get(value)

    def _changed_attributes(self, left: Term, right: Term) -> list[str]:
        a, b = (dict(self._alignment.numbers.attributes(term)) for term in (left, right))
        return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))

    def _flatten_concat_operands(self, term: Term) -> Iterator[Term | None]:
        for operand in term.operands:
            is_inner = operand is not None and operand.operator == "Concat" and operand not in self._pairs.twins
            if operand is not None and is_inner and operand.attributes == term.attributes:
                yield from self._flatten_concat_operands(operand)
            else:
                yield operand

    def _compare_operations(self, left: Term, right: Term) -> None:
        a, b = self._written(0, left), self._written(1, right)
        is_one_operator = a is not None and b is not None and a.operator == b.operator
        if a and b and is_one_operator and (left.operator != right.operator or a.operator == "Transpose"):
            left, right = a, b  # only one of them reads what a rule applies to
        if left.operator != right.operator:
            self._add_edit(EditKind.OPERATOR, left, right, (left, right), detail=f"{left.operator}, {right.operator}")
            if len(left.operands) != len(right.operands):
                return
        elif self._alignment.numbers.attributes(left) != self._alignment.numbers.attributes(right):
            self._compare_attributes(left, right)
        # A condition that is tested before an iteration reads what is carried, otherwise the results.
        is_shifted = left.node in self._shifted and left.operator == right.operator
        for k, (a, b) in enumerate(self._operand_pairs(left, right)):
            if not is_shifted or (a is not None and b is not None and a.is_constant and b.is_constant):
                self._compare_operand(a, b, (left, right), EditKind.OPERAND, str(k))
        if left.is_constant and right.is_constant and self._is_same_computation(left, right):
            self._add_constant_edit(left, right, (left, right))

    def _is_same_computation(self, left: Term, right: Term) -> bool:
        """Whether two terms have equal operators, attributes and operands, so that only rounding tells them apart."""
        return (
            self._have_equal_attributes(left, right)
            and len(left.operands) == len(right.operands)
            and all(self._alignment.numbers.equal(a, b) for a, b in zip(left.operands, right.operands, strict=True))
        )

    def _have_equal_attributes(self, left: Term, right: Term) -> bool:
        """Whether two terms have equal operators and attributes."""
        numbers = self._alignment.numbers
        return left.operator == right.operator and numbers.attributes(left) == numbers.attributes(right)

    def _differ_in_operands(self, left: Term | None, right: Term | None) -> bool:
        """Whether two terms have equal operators and attributes, and as many operands."""
        if left is None or right is None:
            return False
        return self._have_equal_attributes(left, right) and len(left.operands) == len(right.operands)

    def _compare_attributes(self, left: Term, right: Term) -> None:
        for name in self._changed_attributes(left, right):
            kind = EditKind.ATTRIBUTE
            if left.operator == "Cast" and cast_target_dtype(left) != cast_target_dtype(right):
                kind = EditKind.DTYPE
            self._add_edit(kind, left, right, (left, right, name), detail=name)

    def _compare_ifs(self, left: Term, right: Term) -> None:
        assert isinstance(left.node, If)
        self._compare_operand(left.operands[0], right.operands[0], (left, right), EditKind.OPERAND, "condition")
        swapped = left.node in self._alignment.swapped
        if swapped:
            texts = self._texts.branches(0, left), self._texts.branches(1, right)
            self._add_edit(EditKind.BRANCHES, left, right, (left.node,), "then and else", texts=texts)
        others = right.port[::-1] if swapped else right.port
        for (word, _), a, b in zip(bodies(left.node), left.port, others, strict=True):
            role = f"a result of the {word} branch"
            texts = f"{operand_name(a)} is {role}", f"{operand_name(b)} is {role}"
            self._compare_operand(a, b, (left, right), EditKind.OPERAND, role, texts=texts)

    # -- operands and ports

    def _compare_operand(
        self,
        left: Term | None,
        right: Term | None,
        reader: tuple[Term, Term],
        kind: EditKind,
        detail: str = "",
        port: tuple[Any, Any] | None = None,
        names: tuple[str, str] = ("", ""),
        texts: Texts | None = None,
    ) -> None:
        """The edits by which an operand or port of two readers differs."""
        if self._same(left, right) or self._compare_namesakes_without_effect(left, right, reader):
            return
        self._place = replace(self._place, operand=self._exchangeable_operand(left, right))
        if left is not None and right is not None:
            if left.is_constant and right.is_constant and not self._pairs.reads_other_namesake(left, right):
                if self._pairs.twins.get(left) is right and not left.is_leaf:
                    return  # their own operands differ
                if self._pairs.is_quantized_weight_pair(left, right):
                    return
                if self._add_folded_constant_edits(left, right, reader) or self._add_unmatched_node_edits(
                    left, right, reader, texts
                ):
                    return
                if self._is_constant_negated(left, right, reader):
                    self._add_edit(EditKind.OPERATOR, *reader, reader, detail="negated")
                    return
                if not self._pairs.are_different_constants(left, right):
                    self._add_constant_edit(left, right, reader)
                    return
            elif not (left.is_constant and right.is_constant) and (
                self._pairs.equal_by_declared_shape(left, right)
                or self._are_same_reshapes(left, right)
                or self._add_unmatched_node_edits(left, right, reader, texts)
                or (not self._same_system and not self._pairs.may_be_rewired(left, right))
            ):
                return
        key = (kind, *reader, detail, port and port[0])
        self._add_edit(kind, *reader, key, detail, port, names, texts, operands=(left, right))

    def _compare_namesakes_without_effect(
        self, left: Term | None, right: Term | None, reader: tuple[Term, Term]
    ) -> bool:
        """Whether the values come from nodes of one name that give an operand whole in both models, of which the
        operands are compared then: the normal form has no such node, but it may have several readers. Copies are called
        like their readers."""
        nodes: list[dict[str, Term]] = []
        for side, (graph, term) in enumerate(zip(self._pairs.sides, (left, right), strict=True)):
            removed = (
                graph.written.get(value)
                for value in self._values_read_by_reader(side, reader)
                if value is not None and graph.by_value.get(value) is term is not None and term.value is not value
            )
            nodes.append({term_name(node): node for node in removed if node and node.operator != "Identity"})
        for name in nodes[0].keys() & nodes[1].keys():
            a, b = nodes[0][name], nodes[1][name]
            alike = (a.operator, a.index, len(a.operands)) == (b.operator, b.index, len(b.operands))
            if not alike or self._changed_attributes(a, b):
                continue
            place, self._place = self._place, EditPlace("value", a.value, b.value)
            for k, operands in enumerate(zip(a.operands, b.operands, strict=True)):
                self._compare_operand(*operands, (a, b), EditKind.OPERAND, str(k))
            self._place = place
            return True
        return False

    def _exchangeable_operand(self, left: Term | None, right: Term | None) -> tuple[Value, Value] | None:
        """What the nodes of the two values that are compared read, if one can be read for the other at its positions
        while all else stays; None otherwise, and for a port."""
        if self._place.role != "value":
            return None
        read: list[list[Value]] = []
        for side, term, result in zip(
            self._pairs.sides, (left, right), (self._place.left, self._place.right), strict=True
        ):
            node = side.declared.origins.get(result)
            source = side.source_node(node)
            reader = source if source is not None and result in source.outputs else node
            values = reader.inputs if isinstance(reader, Operation) else ()
            read.append([value for value in values if value is not None and side.by_value.get(value) is term])
        alone = len(read[0]) == len(read[1]) and all(len(set(values)) == 1 for values in read)
        return (read[0][0], read[1][0]) if alone else None

    def _is_constant_negated(self, left: Term, right: Term, reader: tuple[Term, Term]) -> bool:
        """Whether a constant is negated since its readers differ: a converter writes x - 2 as x + -2."""
        a, b = left.data, right.data
        nodes = [term.node for term in reader]
        if a is None or b is None or nodes[0] is None or nodes[1] is None or self._place.role != "value":
            return False
        if canonical_operator(nodes[0]) == canonical_operator(nodes[1]):
            return False
        return describe_constant_relation(a, b) == "the same, negated" or (
            a.size == b.size == 1 and bool(a.item() == -b.item())
        )

    def _add_folded_constant_edits(self, left: Term, right: Term, reader: tuple[Term, Term]) -> bool:
        """Edits of the constants that one model computes with and the other has folded, if these are why a result
        differs."""
        changed = self._pairs.folded_constant_pairs(left, right)
        for pair in changed:
            self._add_constant_edit(*pair, reader)
        return bool(changed)

    def _add_constant_edit(self, left: Term, right: Term, reader: tuple[Term, Term]) -> None:
        if self._alignment.quantized_side is not None and left.data is not None and right.data is not None:
            # Rounding by one quantisation step of the largest weight is expected.
            delta = compare(left.data, right.data, _QUANTIZED_ROUNDING, loose_shape=not self._same_system)
            if not delta.kind:
                return
        read = self._values_read_by_reader(0, reader), self._values_read_by_reader(1, reader)
        named = self._pairs.resolve_folded_namesakes((left, right), read)
        self._add_edit(
            EditKind.CONSTANT,
            *reader,
            ("constant", left, self._alignment.numbers.constant_key(right)),
            describe_constant_relation(left.data, right.data),
            names=(term_name(named[0]), term_name(named[1])),
            texts=self._texts.disambiguate(changed_constant_texts(*named), (left, right)),
            data=(left.data, right.data),
            has_nodes=bool(left.operands or right.operands),
        )

    def _add_unmatched_node_edits(
        self, left: Term, right: Term, reader: tuple[Term, Term], texts: Texts | None = None
    ) -> bool:
        """Edits of the nodes that only one model has between a value and its reader. ``texts``: of the reader."""
        side, path = self._pairs.one_sided_path(left, right)
        if path:
            self._add_path_edit(side, path, (left, right)[1 - side], reader, texts or self._texts.assignments(reader))
            return True
        for side, term, target in ((0, left, right), (1, right, left)):
            read = self._values_read_by_reader(1 - side, reader)
            if self._pairs.is_unpaired(term, side):
                # A node without effect, which reads another value.
                other = next(iter(self._pairs.bypassed_nodes(side, [term], read, target)), None)
                if other is not None:
                    self._add_changed_node_edit(*((other, term) if side else (term, other)))
                    return True
        if (
            self._pairs.is_unpaired(left, 0)
            and self._pairs.is_unpaired(right, 1)
            and not (left.is_constant and right.is_constant)
        ):
            written = self._written(0, left), self._written(1, right)
            if any(self._differ_in_operands(a, b) for a, b in ((left, right), written)):
                # One of them is outside of the loop, since nothing that it reads changes there.
                place = self._place
                self._compare_terms(left, right)
                self._place = place
            else:
                detail = f"{left.operator}, {right.operator}"
                self._add_edit(EditKind.OPERATOR, left, right, (left, right), detail=detail)
            return True
        return False

    def _add_path_edit(
        self, side: int, path: Sequence[Term], target: Term, reader: tuple[Term, Term], texts: Texts
    ) -> None:
        """The edit of the nodes on a path from the operand of a reader down to ``target`` on the other side; several
        nodes are added or omitted together.

        A node may have become several terms. If another of its terms has a counterpart, the node itself is neither
        added nor omitted, but differs from the node of that counterpart.
        """
        graph = self._pairs.sides[side]
        terms, below = path[:-1], path[-1]
        own: list[Term] = []
        for term in terms:
            node = graph.source_node(term.node)
            if node is not None and node is graph.source_node(below.node):
                pair = (target, below) if side else (below, target)
            elif node is not None and reader[side] not in terms and node is graph.source_node(reader[side].node):
                pair = reader
            else:
                own.append(term)
                continue
            self._add_changed_node_edit(*pair)
        bypassed = self._pairs.bypassed_nodes(side, own, self._values_read_by_reader(1 - side, reader), target)
        for term, other in zip(own, bypassed, strict=False):
            self._add_changed_node_edit(*((other, term) if side else (term, other)), below=target)
        if own and not bypassed:
            kind = EditKind.NODE_ADDED if side else EditKind.NODE_OMITTED
            left, right = (None, own[0]) if side else (own[0], None)
            detail = ", ".join(dict.fromkeys(_value_or_node_name(term) for term in own))
            self._add_edit(
                kind,
                left,
                right,
                (kind, *own),
                detail,
                reader=reader,
                texts=self._texts.text_with_extra_nodes(side, texts, own),
            )

    def _values_read_by_reader(self, side: int, reader: tuple[Term, Term]) -> Sequence[Value | None]:
        """The values that a reader reads at the place that is compared."""
        port = (self._place.left, self._place.right)[side]
        match self._place.role:
            case "value":
                node = reader[side].node
                return () if node is None else node.inputs
            case "output":
                return self._pairs.sides[side].graph.outputs[port : port + 1]
            case "initial value":
                return (initial_outer_value(port.initial),)
            case "back edge" | "scan output" | "last value":
                return (port.result,)
            case "slice":
                return (port.outer,)
            case "trip count":
                return (port.trip_count,)
            case "initial condition":
                return (port.initial_condition,)
        return (port.condition or port.ignored_condition,)

    def _add_changed_node_edit(self, left: Term, right: Term, below: Term | None = None) -> None:
        """The edit of two nodes, of which one became a term more, unless they are written alike. ``below``: what one of
        them gives, and those below it."""
        nodes = [side.source_node(term.node) for side, term in zip(self._pairs.sides, (left, right), strict=True)]
        kind, detail = EditKind.OPERATOR, ""
        if isinstance(nodes[0], Operation) and isinstance(nodes[1], Operation):
            if nodes[0].op_type == nodes[1].op_type == "Cast":
                # Of a constant: one of the dtypes does not hold it.
                a, b = (term if term.is_constant or not term.operands else term.operands[0] for term in (left, right))
                if a is not None and b is not None and a.is_constant and b.is_constant:
                    self._add_constant_edit(a, b, (left, right))
                    return
            if self._have_same_source_nodes(left, right, below):
                return
            names, constants = self._alignment.changed_attributes(nodes[0], nodes[1]), list[tuple[Term, Term]]()
            written, other = self._written(0, left), self._written(1, right)
            if written is not None and other is not None:
                names, constants = self._changed_attributes(written, other), self._changed_constants(written, other)
            counts = [sum(value is not None for value in node.inputs) for node in nodes if node is not None]
            if nodes[0].op_type == nodes[1].op_type and names:
                kind, detail = EditKind.ATTRIBUTE, ", ".join(names)
            elif nodes[0].op_type == nodes[1].op_type and constants:
                for pair in constants:
                    self._add_constant_edit(*pair, (left, right))
                return
            elif counts[0] != counts[1] or nodes[0].op_type == nodes[1].op_type:
                kind = EditKind.OPERAND
        key = (left, right) if kind is EditKind.OPERATOR else ("node", left, right)
        self._add_edit(kind, left, right, key, detail)

    def _changed_constants(self, left: Term, right: Term) -> list[tuple[Term, Term]]:
        """The pairs of constants in which the operands of two terms differ; none if others differ, too."""
        changed = [(a, b) for a, b in self._pairs.operand_pairs(left, right) if not self._same(a, b)]
        constants = [(a, b) for a, b in changed if a is not None and b is not None and a.is_constant and b.is_constant]
        return constants if len(constants) == len(changed) else []

    # -- loops and outputs

    def _compare_loops(self, pair: LoopAlignment) -> None:
        left, right = self._pairs.left.loops[pair.left], self._pairs.right.loops[pair.right]
        reader = self._representative_loop_terms(pair)
        loop_names = pair.left.name, pair.right.name
        a, b = left.trip_count, right.trip_count
        texts = trip_count_text(pair.left, left), trip_count_text(pair.right, right)
        self._place = EditPlace("trip count", pair.left, pair.right)
        both = pair.left, pair.right
        computed = any(term is not None and not term.is_constant and not term.is_leaf for term in (a, b))
        if computed and not self._same_system:
            # Systems differ in the type and range of a trip count, but a number is none that is computed.
            known = a is not None and b is not None and a.is_constant is not b.is_constant
            is_changed = known and not (self._same(a, b) or self._pairs.equal_by_declared_shape(a, b))  # type: ignore[arg-type]
        elif a is not None and b is not None:
            self._compare_operand(a, b, reader, EditKind.TRIP_COUNT, "", both, loop_names, texts)
            is_changed = False
        else:
            is_changed = self._same_system and (a is not b or pair.left.fixed_trips != pair.right.fixed_trips)
            counts = _known_trip_count(left), _known_trip_count(right)
            # A converter counts slices that nothing reads, and runs a loop once that gives the same then.
            is_counted = pair.left.counted_by_slices is not pair.right.counted_by_slices
            matters = bool(pair.scans) or any(left.results[a] is not left.params[a] for a, _, _ in pair.edges)
            if None not in counts and counts[0] != counts[1] and is_counted and matters:
                is_changed = True
                texts = _with_count(texts[0], counts[0]), _with_count(texts[1], counts[1])
        if is_changed:
            self._add_edit(EditKind.TRIP_COUNT, *reader, ("trips", pair.left), "", both, loop_names, texts)
        self._compare_conditions(pair, reader)
        for port, other in ((p, o) for p, o, _ in pair.slices):
            self._place = EditPlace("slice", port, other)
            outers = self._pairs.left.by_value[port.outer], self._pairs.right.by_value[other.outer]
            names = port.inner.name, other.inner.name
            texts = sliced_input_text(port), sliced_input_text(other)
            self._compare_operand(*outers, reader, EditKind.SLICE, "outer", (port, other), names, texts)
            shapes = outers[0].shape or outers[1].shape, outers[1].shape or outers[0].shape
            changed = changed_slice_fields(port, other, shapes)
            if changed:
                spelled = tuple(
                    ", ".join(f"{field}={getattr(item, field)}" for field in changed) for item in (port, other)
                )
                texts = (f"{texts[0]} ({spelled[0]})", f"{texts[1]} ({spelled[1]})") if texts[0] == texts[1] else texts
                self._add_edit(
                    EditKind.SLICE, *reader, ("slice", port), ", ".join(changed), (port, other), names, texts
                )
        for edge, other_edge, _ in pair.edges:
            self._place = EditPlace("initial value", edge, other_edge)
            names, ports = (edge.param.name, other_edge.param.name), (edge, other_edge)
            texts = initial_text(edge), initial_text(other_edge)
            self._compare_operand(
                left.initials[edge], right.initials[other_edge], reader, EditKind.INITIAL_VALUE, "", ports, names, texts
            )
            if isinstance(edge.initial, SlicedInput) is not isinstance(other_edge.initial, SlicedInput):
                self._add_edit(EditKind.INITIAL_VALUE, *reader, ("initial", edge), "", ports, names, texts)
            self._place = EditPlace("back edge", edge, other_edge)
            texts = back_edge_text(edge), back_edge_text(other_edge)
            self._compare_operand(
                left.results[edge], right.results[other_edge], reader, EditKind.BACK_EDGE, "", ports, names, texts
            )
        self._compare_loop_results(pair, reader)

    def _compare_conditions(self, pair: LoopAlignment, reader: tuple[Term, Term]) -> None:
        left, right = self._pairs.left.loops[pair.left], self._pairs.right.loops[pair.right]
        loop_names = pair.left.name, pair.right.name
        self._place = EditPlace("condition", pair.left, pair.right)
        a, b = left.condition, right.condition
        values = [loop.condition or loop.ignored_condition for loop in (pair.left, pair.right)]
        texts = condition_text(values[0]), condition_text(values[1])
        if _condition_stays_true(left) and _condition_stays_true(right):
            a = b = None
        if a is not None and b is not None:
            names = _condition_name(pair.left), _condition_name(pair.right)
            self._compare_operand(a, b, reader, EditKind.CONDITION, "", (pair.left, pair.right), names, texts)
        elif self._same_system and a is not b:
            self._add_edit(
                EditKind.CONDITION, *reader, ("condition", pair.left), "", (pair.left, pair.right), loop_names, texts
            )
        self._place = EditPlace("initial condition", pair.left, pair.right)
        a, b = left.initial_condition, right.initial_condition
        texts = self._initial_condition_text(0, a), self._initial_condition_text(1, b)
        if a is not None and b is not None:
            self._compare_operand(
                a, b, reader, EditKind.CONDITION, "initial condition", (pair.left, pair.right), loop_names, texts
            )
        elif self._same_system and not (_is_absent_or_true(a) and _is_absent_or_true(b)):
            key = "initial", pair.left
            self._add_edit(
                EditKind.CONDITION, *reader, key, "initial condition", (pair.left, pair.right), loop_names, texts
            )

    def _initial_condition_text(self, side: int, term: Term | None) -> str:
        return "no initial condition" if term is None else self._texts.assignment(side, term)

    def _compare_loop_results(self, pair: LoopAlignment, reader: tuple[Term, Term]) -> None:
        left, right = self._pairs.left.loops[pair.left], self._pairs.right.loops[pair.right]
        for scan, other, _ in pair.scans:
            self._place = EditPlace("scan output", scan, other)
            names, ports = (scan.outer.name, other.outer.name), (scan, other)
            texts = scan_text(scan), scan_text(other)
            self._compare_operand(
                left.inner[scan], right.inner[other], reader, EditKind.SCAN_OUTPUT, "", ports, names, texts
            )
            values = [(item.reverse, item.axis if self._same_system else 0) for item in (scan, other)]
            if values[0] != values[1]:
                self._add_edit(EditKind.SCAN_OUTPUT, *reader, ("scan", scan), "axis or direction", ports, names, texts)
            lengths = left.lengths.get(scan), right.lengths.get(other)
            if None not in lengths:
                texts = scan_length_text(scan), scan_length_text(other)
                self._compare_operand(*lengths, reader, EditKind.SCAN_OUTPUT, "length", ports, names, texts)
        for last, other_last, same in pair.last_values:
            self._place = EditPlace("last value", last, other_last)
            names, lasts = (last.outer.name, other_last.outer.name), (last, other_last)
            edges = last.edge, other_last.edge
            texts = last_value_text(last), last_value_text(other_last)
            one_carried = self._same_system and (edges[0] is None) is not (edges[1] is None)
            if one_carried:
                self._add_edit(EditKind.SCAN_OUTPUT, *reader, ("last", last), "last value", lasts, names, texts)
            elif not same:
                kind, detail = EditKind.SCAN_OUTPUT, "last value"
                edge = next((edge for edge in edges if edge is not None), None)
                if edge is not None and None in edges:
                    # Another system collects what this one carries, unless something reads it in the body.
                    kind, detail, names = EditKind.BACK_EDGE, "", (edge.param.name, edge.param.name)
                inner = left.inner[last], right.inner[other_last]
                self._compare_operand(*inner, reader, kind, detail, lasts, names, texts)

    def _representative_loop_terms(self, pair: LoopAlignment) -> tuple[Term, Term]:
        """Terms that stand for the loops: a result of each, or what its body receives."""
        terms = []
        for side, loop in zip(self._pairs.sides, (pair.left, pair.right), strict=True):
            ports = side.loops[loop]
            first = next(iter((*ports.outer.values(), *ports.params.values(), *ports.slices.values())), None)
            terms.append(first if first is not None else Term("last", node=loop))
        return terms[0], terms[1]

    def _compare_outputs(self, outputs: Sequence[tuple[Term, Term]]) -> None:
        different = [(k, a, b) for k, (a, b) in enumerate(outputs) if not self._same(a, b)]
        exchanged = {k for k, a, _ in different if any(j != k and self._same(a, b) for j, _, b in different)}
        for k, a, b in different:
            self._place = EditPlace("output", k, k)
            graphs = self._pairs.left.graph, self._pairs.right.graph
            names = tuple(
                graph.output_names[k] if k < len(graph.output_names) else graph.outputs[k].name for graph in graphs
            )
            texts = f"{names[0]} is {operand_name(a)}", f"{names[1]} is {operand_name(b)}"
            if k in exchanged:
                self._add_edit(
                    *(EditKind.OUTPUT_ORDER, a, b, ("output", k), str(k), None, (names[0], names[1]), texts),
                    operands=(a, b),
                )
            else:
                self._compare_operand(a, b, (a, b), EditKind.OPERAND, "output", None, (names[0], names[1]), texts)

    # -- edits

    def _add_edit(
        self,
        kind: EditKind,
        left: Term | None,
        right: Term | None,
        key: tuple[Any, ...],
        detail: str = "",
        port: tuple[Any, Any] | None = None,
        names: tuple[str, str] = ("", ""),
        texts: Texts | None = None,
        operands: tuple[Term | None, Term | None] | None = None,
        reader: tuple[Term, Term] | None = None,
        data: tuple[Array | None, Array | None] = (None, None),
        has_nodes: bool = True,
    ) -> None:
        """Add an edit, or the present place to the edit of this key. ``has_nodes``: whether nodes compute the terms."""
        if key not in self._edits:
            terms, shown = (left, right), reader or (left, right)
            nodes = [
                side.source_node(term.node) if term is not None and has_nodes else None
                for side, term in zip(self._pairs.sides, terms, strict=True)
            ]
            values = [_result_value(term) for term in shown]
            attribute = detail if kind in (EditKind.ATTRIBUTE, EditKind.DTYPE) else ""
            texts = self._texts.disambiguate(texts or self._texts.assignments(terms), terms, operands, attribute)
            own_names = [name or _value_or_node_name(term) for name, term in zip(names, terms, strict=True)]
            edit = Edit(
                kind,
                self._left_loop_path(left if left is not None else shown[0]),
                *(nodes[0], nodes[1]),
                *(values[0], values[1]),
                *(texts[0], texts[1]),
                detail,
                *data,
                left_name=own_names[0],
                right_name=own_names[1],
                port=port,
            )
            position = shown[0] if left is None else left
            self._edits[key] = -1 if position is None else self._order.get(position, -1), edit, []
        self._edits[key][2].append(self._place)

    def _left_loop_path(self, term: Term | None) -> str:
        """The path of the loop that a left term belongs to."""
        if term is None:
            return MAIN
        graph = term.node.body if isinstance(term.node, Loop) else term.scope
        return MAIN if graph is None else self._left_paths.get(graph, MAIN)


def _merge_repeated_edits(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with several operands of one node as one edit, since each quotes the whole node; and one at several
    readers, of which each was compared by itself, once."""
    merged: dict[Any, Edit] = {}
    for edit in edits:
        key: Any = edit
        if edit.kind is EditKind.OPERAND:
            values = tuple((place.role, place.left, place.right) for place in edit.places)
            key = edit.left_loop, edit.left_node, edit.right_node, edit.port, values
        elif edit.kind is EditKind.ATTRIBUTE:
            key = edit.left_node, edit.right_node, edit.left_text, edit.right_text, edit.detail
        first = merged.setdefault(key, edit)
        if first is not edit:
            detail = first.detail if edit.detail == first.detail else f"{first.detail}, {edit.detail}"
            merged[key] = replace(first, detail=detail, places=first.places + edit.places)
    return list(merged.values())


def _known_trip_count(terms: LoopPortTerms) -> int | None:
    """The trip count of a loop that follows from its file, None if it does not."""
    loop, count = terms.loop, terms.trip_count
    if loop.fixed_trips is not None or not loop.counted_by_slices:
        data = None if count is None else count.data
        return loop.fixed_trips if data is None or data.size != 1 else int(data.item())
    for port, term in terms.slices.items():
        outer = term.operands[0]
        if outer is not None and outer.shape is not None:
            axis = normalize_axis(port.axis, len(outer.shape))
            length = outer.shape[axis]
            if isinstance(length, int):
                try:
                    return part_geometry(length, port, axis, lambda: "")[2]
                except ExecutionError:
                    return None
    return None


def _with_count(text: str, count: int | None) -> str:
    return text if text == str(count) else f"{text}, {count}"


def _condition_name(loop: Loop) -> str:
    value = loop.condition or loop.ignored_condition
    return loop.name if value is None else value.name


def _condition_stays_true(terms: LoopPortTerms) -> bool:
    """Whether the body of a loop cannot end it: its condition is true, or what it receives, which is true then."""
    if terms.condition is None or terms.condition is terms.condition_input:
        return True
    unchanged = [edge for edge, param in terms.params.items() if param is terms.condition is terms.results[edge]]
    begins_true = any(
        terms.initials[edge] is terms.initial_condition or _is_absent_or_true(terms.initials[edge])
        for edge in unchanged
    )
    return begins_true or _is_absent_or_true(terms.condition)


def _is_absent_or_true(term: Term | None) -> bool:
    """Whether a condition is absent or constant and true."""
    return term is None or is_true(term)


def _value_or_node_name(term: Term | None) -> str:
    if term is None:
        return ""
    if term.value is not None:
        return term.value.name
    return _result_name(term.node)


def _result_name(node: Node | None) -> str:
    value = None if node is None else next((value for value in node.outputs if value is not None), None)
    return "" if node is None else node.name if value is None else value.name


def _result_value(term: Term | None) -> Value | None:
    if term is None:
        return None
    if term.value is not None or term.node is None:
        return term.value
    return next((value for value in term.node.outputs if value is not None), None)


def _walk_inner_graphs(node: Node) -> Iterator[Graph]:
    for _, inner in bodies(node):
        yield inner
        for child in inner.nodes:
            yield from _walk_inner_graphs(child)


def _loop_paths_by_graph(graph: Graph, path: str = MAIN) -> dict[Graph, str]:
    """The path of each graph: that of the loop around it."""
    paths = {graph: path}
    for node in graph.nodes:
        for _, inner in bodies(node):
            paths.update(_loop_paths_by_graph(inner, f"{path} ▸ {node.name}" if isinstance(node, Loop) else path))
    return paths
