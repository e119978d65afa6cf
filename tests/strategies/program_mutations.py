"""One change in a random program, and the names that a comparison may give it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .draws import ChoiceSource, SeededChoices
from .numpy_operators import INT64_MAX
from .program import (
    AnyNode,
    Program,
    ProgramBody,
    ProgramCarriedValue,
    ProgramConstant,
    ProgramIf,
    ProgramLoop,
    ProgramNode,
    ProgramSlicedInput,
    ProgramValue,
    ValueType,
    all_loops,
    outputs_of,
    prune,
)
from .value_uses import ValueUse, all_reader_names, all_uses, origin, reader_names

#: Operators that can replace each other.
OPERATOR_FAMILIES = (
    ("Add", "Sub", "Mul", "Max", "Min"),
    ("Less", "LessOrEqual", "Greater", "Equal"),
    ("And", "Or", "Xor"),
    ("Neg", "Abs"),
)


@dataclass(frozen=True)
class Mutation:
    """A change. ``names``: what a comparison may list on the left; ``loop NAME``: a property of a whole loop. ``text``:
    a description for the reader.

    ``replaced``: the value that is no longer read, and ``read`` the one in its place. If the other model has another
    name for that one, and both are constants, a replaced constant cannot be distinguished from one with changed
    numbers. ``parts``: the changes, of several at once;
    ``alone``: the programs with one of them. ``unread``: what nothing reads any longer. A tool that removes it leaves
    the model in which it was omitted, and nothing tells the two changes apart.
    """

    names: frozenset[str]
    text: str
    replaced: str = ""
    read: str = ""
    parts: tuple[Mutation, ...] = ()
    alone: tuple[Program, ...] = ()
    unread: frozenset[str] = frozenset()

    def also_called(self, more_names: Callable[[Mutation], Iterable[str]]) -> Mutation:
        """The mutation with more names, which a function gives of it and of each of its parts."""
        parts = tuple(part.also_called(more_names) for part in self.parts)
        names = self.names.union(more_names(self), *(part.names for part in parts))
        return replace(self, names=names, parts=parts)

    def replaced_unless(self, kept: Collection[str]) -> set[str]:
        """What was replaced, unless what is read in its place has a name that the other model kept."""
        return set() if self.read in kept or not self.replaced else {self.replaced}


def all_bodies(body: ProgramBody) -> list[ProgramBody]:
    """A body and all bodies inside it."""
    results = [body]
    for node in body.nodes:
        inside = (
            [node.body]
            if isinstance(node, ProgramLoop)
            else [node.then, node.other]
            if isinstance(node, ProgramIf)
            else []
        )
        for item in inside:
            results += all_bodies(item)
    return results


def all_nodes(program: Program) -> list[AnyNode]:
    """All nodes, including those of inner bodies."""
    return [node for body in all_bodies(program.body) for node in body.nodes]


def turn_inputs_into_weights(program: Program, feeds: Mapping[str, Any], draw: ChoiceSource) -> dict[str, Any]:
    """Turn some inputs into weights with the values of their feeds; returns the remaining feeds."""
    weights: list[AnyNode] = []
    for value in list(program.inputs):
        fits = value.type.dtype in ("float32", "float64", "int64") and np.size(feeds[value.name])
        if draw.chance(25 if value.name in ("M", "K", "bound") else 50) and fits:
            program.inputs.remove(value)
            weights.append(ProgramConstant(value, feeds[value.name]))
    program.body.nodes[:0] = weights
    left = {value.name for value in program.inputs}
    return {name: array for name, array in feeds.items() if name in left}


def mutate(program: Program, kind: str, draw: ChoiceSource) -> tuple[Program, Mutation] | None:
    """A copy with one change of a kind; None if there is no place for one."""
    changed = copy.deepcopy(program)
    result = MUTATIONS[kind](changed, draw)
    return None if result is None else (changed, result)


def _mutation(text: str, *names: str) -> Mutation:
    return Mutation(frozenset(names), text)


# -- changes within a node


def _operator(program: Program, draw: ChoiceSource) -> Mutation | None:
    places = [
        (node, family) for node in all_nodes(program) for family in OPERATOR_FAMILIES if _has_operator(node, family)
    ]
    if not places:
        return None
    node, family = draw.pick(places)
    assert isinstance(node, ProgramNode)
    was, node.operator = node.operator, draw.pick([word for word in family if word != node.operator])
    return _mutation(f"{node.output}: {was} is {node.operator}", node.output.name)


def _has_operator(node: AnyNode, operators: tuple[str, ...]) -> bool:
    return isinstance(node, ProgramNode) and node.operator in operators and _type(node.inputs[0]) != "str"


def _type(value: ProgramValue) -> str:
    return value.type.dtype


def _attribute(program: Program, draw: ChoiceSource) -> Mutation | None:
    places = [node for node in all_nodes(program) if isinstance(node, ProgramNode) and node.operator in _ATTRIBUTES]
    if not places:
        return None
    node = draw.pick(places)
    name, choices = draw.pick(_ATTRIBUTES[node.operator])
    was = node.attributes[name]
    node.attributes[name] = draw.pick([choice for choice in choices if choice != was])
    text = f"{node.output}: {node.operator} {name} {was} is {node.attributes[name]}"
    return _mutation(
        text, node.output.name, *(f"{node.output.name}_{what}" for what in ("start", "stop", "low", "high"))
    )


#: Operator -> attributes, and their possible values.
_ATTRIBUTES: Mapping[str, list[tuple[str, tuple[Any, ...]]]] = {
    "Rows": [("start", (0, 1, -3, -1)), ("stop", (-1, INT64_MAX, 4, 1))],
    "CumSum": [("exclusive", (0, 1)), ("reverse", (0, 1))],
    "Clip": [("low", (-3.0, -1.0, 0.0)), ("high", (1.0, 2.0, 5.0))],
}


def _constant(program: Program, draw: ChoiceSource) -> Mutation | None:
    return _number(program, draw, [node for body in all_bodies(program.body)[1:] for node in body.nodes])


def _weight(program: Program, draw: ChoiceSource) -> Mutation | None:
    return _number(program, draw, program.body.nodes)


def _number(program: Program, draw: ChoiceSource, among: list[AnyNode]) -> Mutation | None:
    places = [
        node
        for node in among
        if isinstance(node, ProgramConstant) and np.size(node.array) and _type(node.output) != "str"
    ]
    if not places:
        return None
    node = draw.pick(places)
    array = np.array(node.array)
    place = np.unravel_index(draw.integer(0, array.size - 1), array.shape)
    array[place] = not array[place] if array.dtype == bool else array[place] + draw.pick((1, 2, -1))
    node.array = array
    names = {node.output.name}
    for port in all_uses(program):
        if port.read() is node.output and port.kind in ("trip count", "initial condition"):
            names.add(port.name)
    return _mutation(f"{node.output} is {array.tolist()}", *names)


# -- changed operands


def _rewire(kind: str) -> Callable[[Program, ChoiceSource], Mutation | None]:
    def rewire(program: Program, draw: ChoiceSource) -> Mutation | None:
        places = [
            (port, others)
            for port in all_uses(program)
            if port.kind == kind
            for others in [_alternatives(port)]
            if others
        ]
        if not places:
            return None
        return _reroute(program, draw, places, kind + " {port} reads {other} for {was}")

    return rewire


def _reroute(
    program: Program, draw: ChoiceSource, places: Sequence[tuple[ValueUse, list[ProgramValue]]], text: str
) -> Mutation:
    """Let one of the places read another of its values. ``text``: what it reads now, with names in braces."""
    port, others = draw.pick(places)
    was, other = port.read(), draw.pick(others)
    assert was is not None
    names, replaced, read = reader_names(port, program), str(origin(was, program)), str(origin(other, program))
    port.write(other)
    for end in (end for loop in all_loops(program.body) for end in loop.sliced if port.kind == "slice"):
        names |= _readers_if_equal(end, program) if end.param.name == port.name else set()
    return Mutation(frozenset(names), text.format(port=port.name, other=other, was=was), replaced, read)


def _alternatives(port: ValueUse) -> list[ProgramValue]:
    value = port.read()
    return (
        []
        if value is None
        else [
            alternative
            for alternative in port.alternatives
            if alternative is not value and alternative.type == value.type
        ]
    )


def _reverse(kind: str) -> Callable[[Program, ChoiceSource], Mutation | None]:
    """Reverse a slice or a scan output, or let it be of another value."""
    rewire = _rewire(kind)

    def turn(program: Program, draw: ChoiceSource) -> Mutation | None:
        ends = [end for loop in all_loops(program.body) for end in (loop.sliced if kind == "slice" else loop.scanned)]
        ends = [end for end in ends if end.keeps_axis or _is_scan(program, end)]
        if not ends or draw.chance(50):
            return rewire(program, draw)
        end = draw.pick(ends)
        end.backwards = not end.backwards
        name = end.param.name if isinstance(end, ProgramSlicedInput) else end.output.name
        readers = _readers_if_equal(end, program) if isinstance(end, ProgramSlicedInput) else set()
        return _mutation(f"{kind} {name} begins at the other end", name, *readers)

    return turn


def _readers_if_equal(end: ProgramSlicedInput, program: Program) -> set[str]:
    """The readers of a sliced input whose loop has another one with the same elements: a converter keeps one of the
    two, so that readers of the other read another value then."""
    is_equal = any(
        (other.outer, other.axis, other.backwards) == (end.outer, end.axis, end.backwards)
        for loop in all_loops(program.body)
        for other in (loop.sliced if end in loop.sliced else ())
        if other is not end
    )
    return all_reader_names(end.param, program) if is_equal else set()


def _is_scan(program: Program, end: object) -> bool:
    """Whether a port belongs to a Scan: ONNX's Loop has no directions."""
    return any(end in (*loop.sliced, *loop.scanned) for loop in all_loops(program.body) if loop.kind == "Scan")


def _trip_count(program: Program, draw: ChoiceSource) -> Mutation | None:
    """Replace the trip count by another value, or by a number."""
    if draw.chance(50):
        return _rewire("trip count")(program, draw)
    places = [port for port in all_uses(program) if port.kind == "trip count" and port.read() is not None]
    if not places:
        return None
    port = draw.pick(places)
    number = ProgramConstant(ProgramValue("trips", ValueType("int64")), np.array(draw.integer(1, 5)))
    program.body.nodes.insert(0, number)
    was = port.read()
    port.write(number.output)
    return _mutation(f"{port.name} runs {number.array} times for {was}", port.name, str(was))


def _condition(program: Program, draw: ChoiceSource) -> Mutation | None:
    return _rewire(draw.pick(("condition", "condition", "initial condition")))(program, draw)


def _last_value(program: Program, draw: ChoiceSource) -> Mutation | None:
    """Swap two last values; in an IR one can be another result's."""
    pairs: list[tuple[ProgramCarriedValue, ProgramCarriedValue]] = []
    for loop in all_loops(program.body):
        pairs += [(a, b) for a in loop.carried for b in loop.carried if a is not b and a.output.type == b.output.type]
    if not pairs:
        return None
    a, b = draw.pick(pairs)
    if program.system == "openvino" and draw.chance(50):
        a.last = b.result
        return _mutation(f"{a.output} is the last {b.result}", a.output.name, *all_reader_names(a.output, program))
    names = {a.output.name, b.output.name} | all_reader_names(a.output, program) | all_reader_names(b.output, program)
    a.output, b.output = b.output, a.output
    return _mutation(f"{a.output} and {b.output} change places", *names)


# -- added and removed nodes


def _insert(program: Program, draw: ChoiceSource) -> Mutation | None:
    places = [(port, item) for port in all_uses(program) for item in [_type_preserving_operators(port.read())] if item]
    if not places:
        return None
    port, operators = draw.pick(places)
    value = port.read()
    assert value is not None
    names, replaced = reader_names(port, program), str(origin(value, program))
    result = ProgramNode(draw.pick(operators), [value], ProgramValue("inserted", value.type))
    body, place = port.position
    body.nodes.insert(place, result)
    port.write(result.output)
    return Mutation(frozenset({"inserted", *names}), f"{result.operator} before {port.name}", replaced, "inserted")


def _type_preserving_operators(value: ProgramValue | None) -> tuple[str, ...]:
    """Operators that give another value of the same type."""
    if value is None or _type(value) == "str":
        return ()
    return ("Not",) if _type(value) == "bool" else ("Neg", "Abs")


def _remove(program: Program, draw: ChoiceSource) -> Mutation | None:
    places: list[tuple[ProgramBody, ProgramNode, ProgramValue]] = []
    for body in all_bodies(program.body):
        for node in body.nodes:
            if isinstance(node, ProgramNode) and node.operator != "Identity":
                places += [(body, node, v) for v in node.inputs if v.type == node.output.type]
    if not places:
        return None
    body, node, value = draw.pick(places)
    names = {node.output.name} | all_reader_names(node.output, program)
    body.nodes.remove(node)
    for port in list(all_uses(program)):
        if port.read() is node.output:
            port.write(value)
    return _mutation(f"{node.output} ({node.operator}) is gone: {value} in its place", *names)


# -- branches, captures, outputs, and changes with company


def _branches(program: Program, draw: ChoiceSource) -> Mutation | None:
    places = [node for node in all_nodes(program) if isinstance(node, ProgramIf)]
    if not places:
        return None
    node = draw.pick(places)
    node.then, node.other = node.other, node.then
    node.results = node.results[1], node.results[0]
    names = [value.name for value in node.outputs]
    return _mutation(f"the branches of {node.name} change places", node.name, *names)


def _captured(program: Program, draw: ChoiceSource) -> Mutation | None:
    """Let a node in a loop read another outer value."""
    places = []
    for loop in all_loops(program.body):
        inside = all_bodies(loop.body)
        own = {*loop.params, *(value for body in inside for node in body.nodes for value in outputs_of(node))}
        own.update(value for inner in all_loops(loop.body) for value in inner.params)
        for port in all_uses(program):
            if port.kind != "edge" or not any(port.position[0] is body for body in inside) or port.read() in own:
                continue
            others = [value for value in _alternatives(port) if value not in own]
            places += [(port, others)] if others else []
    if not places:
        return None
    return _reroute(program, draw, places, "{port} captures {other} for {was}")


def _output_order(program: Program, draw: ChoiceSource) -> Mutation | None:
    outputs = program.outputs
    pairs = [
        (j, k)
        for k in range(len(outputs))
        for j in range(k)
        if outputs[j].type == outputs[k].type and outputs[j] is not outputs[k]
    ]
    if not pairs:
        return None
    j, k = draw.pick(pairs)
    outputs[j], outputs[k] = outputs[k], outputs[j]
    return _mutation(f"the outputs {j} and {k} change places", f"out{j}", f"out{k}")


def _slice_end(program: Program, draw: ChoiceSource) -> Mutation | None:
    places = [node for node in all_nodes(program) if isinstance(node, ProgramNode) and node.operator == "Rows"]
    if not places:
        return None
    node = draw.pick(places)
    was = node.attributes["stop"]
    node.attributes["stop"] = draw.pick([choice for choice in (-1, INT64_MAX, 4, 1) if choice != was])
    name = node.output.name
    return _mutation(f"{name}: rows end at {node.attributes['stop']} for {was}", name, f"{name}_stop")


def _with_copy(program: Program, draw: ChoiceSource) -> Mutation | None:
    """Change an operator, and let another node read a copy of its input, which changes nothing."""
    mutation = _operator(program, draw)
    if mutation is None:
        return None
    places = [
        port
        for port in all_uses(program)
        if port.kind == "edge" and port.name not in mutation.names and isinstance(port.reader, ProgramNode)
    ]
    if not places:
        return None
    port = draw.pick(places)
    value = port.read()
    assert value is not None
    result = ProgramNode("Identity", [value], ProgramValue("copied", value.type))
    body, place = port.position
    body.nodes.insert(place, result)
    port.write(result.output)
    return Mutation(mutation.names, f"{mutation.text}; {port.name} reads a copy of {value}")


def unread_names(left: Program, right: Program) -> frozenset[str]:
    """What the outputs of one program depend on, and those of another do not."""
    live = [_value_names(prune(copy.deepcopy(program))) for program in (left, right)]
    return frozenset(live[0] - live[1])


def bypassed_names(mutation: Mutation, program: Program) -> set[str]:
    """The nodes of which a reader reads an operand instead. Where a tool removes such a node, since nothing else needs
    it, nothing tells the change from the node's omission."""
    bypassed: set[str] = set()
    for part in (mutation, *mutation.parts):
        for node in all_nodes(program):
            operands = node.inputs if isinstance(node, ProgramNode) and node.output.name == part.replaced else []
            if part.read in {str(origin(value, program)) for value in operands}:
                bypassed.add(part.replaced)
    return bypassed


def folded_readers(names: Collection[str], program: Program) -> set[str]:
    """What follows from constants and from some of these results or constants, and who reads it: a tool puts a constant
    in its place, and leaves nothing of what it follows from."""
    known = {node.output for node in all_nodes(program) if isinstance(node, ProgramConstant)}
    folded: set[str] = set()
    for node in all_nodes(program):
        if isinstance(node, ProgramNode) and known.issuperset(node.inputs):
            known.add(node.output)
            if {node.output.name, *(value.name for value in node.inputs)} & {*names, *folded}:
                folded |= {node.output.name, *all_reader_names(node.output, program)}
    return folded


def _value_names(program: Program) -> set[str]:
    """The names of all values that nodes and loops compute or receive."""
    names = {value.name for node in all_nodes(program) for value in outputs_of(node)}
    return names.union(value.name for loop in all_loops(program.body) for value in loop.params)


def _two(program: Program, draw: ChoiceSource) -> Mutation | None:
    """Two changes of different kinds, of which neither is one of the other's."""
    kinds = ["operator", "attribute", "edge", "constant", "weight", "backedge", "initial", "scan"]
    first_kind, second_kind = kinds.pop(draw.integer(0, len(kinds) - 1)), draw.pick(kinds)
    seed, original = draw.integer(0, 1 << 40), copy.deepcopy(program)
    first = MUTATIONS[first_kind](program, draw)
    first_alone = copy.deepcopy(program)
    second = None if first is None else MUTATIONS[second_kind](program, SeededChoices(seed))
    second_alone = mutate(original, second_kind, SeededChoices(seed))
    if first is None or second is None or first.names & second.names:
        return None
    if second_alone is None or second_alone[1].text != second.text:
        return None  # the first change altered what the second one can be
    # One change may leave what the other one changed without readers.
    live = _value_names(prune(copy.deepcopy(program)))
    if not all(mutation.names & live for mutation in (first, second)):
        return None
    text, alone = f"{first.text}; {second.text}", (first_alone, second_alone[0])
    return Mutation(first.names | second.names, text, parts=(first, second), alone=alone)


#: The kinds of changes.
MUTATIONS: Mapping[str, Callable[[Program, ChoiceSource], Mutation | None]] = {
    "operator": _operator,
    "attribute": _attribute,
    "edge": _rewire("edge"),
    "constant": _constant,
    "weight": _weight,
    "slice": _reverse("slice"),
    "condition": _condition,
    "trip": _trip_count,
    "backedge": _rewire("back edge"),
    "initial": _rewire("initial value"),
    "scan": _reverse("scan"),
    "last": _last_value,
    "inserted": _insert,
    "removed": _remove,
    "branches": _branches,
    "captured": _captured,
    "outputs": _output_order,
    "end": _slice_end,
    "noop": _with_copy,
    "two": _two,
}
