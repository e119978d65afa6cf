"""Where onnxruntime or OpenVINO does something else with an ONNX loop than its written spec (SEMANTICS 0.2).

Only what a look at the model tells for certain; the labels are those of SEMANTICS' table B. All of it was
seen in onnxruntime 1.31 and OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph import Graph, If, Loop, OptionalType, SequenceType, TensorType, Value, read_in
from ...graph.origins import Origins
from ...peer_counts import trip_count_note

_MAKE_SEQUENCES = (
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SplitToSequence",
)


class Sources(Origins):
    """Origins that also know a sequence."""

    def is_sequence(self, value: Value) -> bool:
        """Whether a value is a sequence (or an optional one), by its declared type or by what makes it."""
        value = self.origin(value)
        kind = value.type.element if isinstance(value.type, OptionalType) else value.type
        if isinstance(kind, SequenceType):
            return True
        node = self.maker(value)
        if isinstance(node, If):
            return self.is_sequence(node.then_branch.outputs[node.outputs.index(value)])
        if isinstance(node, Loop):
            initials = [last.edge.initial for last in node.last_values if last.edge and last.outer is value]
            return any(isinstance(initial, Value) and self.is_sequence(initial) for initial in initials)
        return node is not None and node.op_type in _MAKE_SEQUENCES


def loop_notes(loop: Loop, sources: Sources) -> list[str]:
    """One sentence a finding about a Loop."""
    return [
        *_condition(loop, sources),
        *_iteration_number(loop),
        *_back_edges(loop),
        *_zero_trips(loop, sources),
        *_outputs(loop),
        *_strings(loop, sources),
        *_outer_results(loop),
    ]


def scan_notes(scan: Loop) -> list[str]:
    """One sentence a finding about a Scan."""
    return [*_passed_through(scan), *_back_edges(scan), *_outer_results(scan)]


def _condition(loop: Loop, sources: Sources) -> Iterator[str]:  # B1, B2
    ignored = loop.ignored_condition
    # Runtimes start with true, so a condition that is handed on stays true.
    if ignored is None or sources.origin(ignored) is loop.condition_input:
        return
    trips = sources.integer(loop.trip_count)
    if trips is not None and trips <= 1:
        return  # there is nothing left to stop
    number = sources.scalar(ignored)
    if number is None:
        yield (
            f"onnxruntime and OpenVINO would stop once the body's condition '{ignored.name}' is false, "
            "although the loop's cond is absent."
        )
    elif not number:
        yield (
            "onnxruntime and OpenVINO would stop after the first iteration: the body's condition "
            f"'{ignored.name}' is always false, and they obey it although the loop's cond is absent."
        )


def _iteration_number(loop: Loop) -> Iterator[str]:  # B7
    for result, outer in zip(loop.body.outputs[1:], loop.outputs, strict=True):
        if result is loop.iteration and outer is not None:
            yield (
                f"onnxruntime would give wrong numbers as '{outer.name}': it returns the iteration number "
                "without a copy and then counts on in place."
            )


def _back_edges(loop: Loop) -> Iterator[str]:  # B8
    used = read_in(loop.body)
    # The iteration number is counted on before anything is carried.
    written: set[Value] = set() if loop.iteration is None else {loop.iteration}
    for edge in loop.back_edges:
        if edge.result in written and edge.param in used:
            yield (
                f"OpenVINO refuses a file with this body, and from memory would carry the next iteration's "
                f"'{edge.result.name}' into '{edge.param.name}': it writes back edges one after another."
            )
        if edge.result is not edge.param:
            written.add(edge.param)


def _zero_trips(loop: Loop, sources: Sources) -> Iterator[str]:
    first = sources.scalar(loop.initial_condition)
    if first is None or first:
        trips = sources.integer(loop.trip_count)
        note = "" if trips is None else trip_count_note(loop, trips, None)
        if note:
            yield note
    elif loop.scan_outputs and len(loop.scan_outputs) <= len(loop.back_edges):  # B16
        yield (
            "OpenVINO would return initial values or uninitialised memory as scan outputs, since the loop's cond is "
            "always false."
        )
    elif loop.scan_outputs:
        yield (
            "OpenVINO refuses this loop: its cond is always false, and it has more scan outputs than carried values."
        )


def _outputs(loop: Loop) -> Iterator[str]:
    if None in loop.outputs and not loop.counted_by_slices:  # B17
        crashes = None in loop.outputs[: len(loop.back_edges)]
        yield f"onnxruntime {'would crash on' if crashes else 'refuses'} the omitted output of this loop."


def _strings(loop: Loop, sources: Sources) -> Iterator[str]:  # B10
    """Strings are moved into a scan output, also out of what an Identity hands on and a later iteration needs again."""
    trips = sources.integer(loop.trip_count)
    if trips is not None and trips <= 1:
        return
    own = _own(loop.body)
    stay = {edge.param for edge in loop.back_edges if sources.origin(edge.result) is edge.param}
    emptied: set[Value] = set()
    for scan in loop.scan_outputs:
        kind = scan.result.type
        source = sources.origin(scan.result)
        if not isinstance(kind, TensorType) or kind.dtype is None or not kind.dtype.hasobject:
            continue
        if source is scan.result or (source not in stay if source in own else _is_constant(source, sources)):
            continue
        if source not in emptied:
            yield (
                f"onnxruntime would fill only the first row of '{scan.outer.name}': it moves the strings out of "
                f"'{source.name}', which an Identity hands on."
            )
        emptied.add(source)


def _is_constant(value: Value, sources: Sources) -> bool:
    node = sources.maker(value)
    return value.constant is not None or (node is not None and node.op_type == "Constant")


def _own(body: Graph) -> set[Value]:
    """What a body itself defines."""
    made = (value for node in body.nodes for value in node.outputs if value is not None)
    return {*body.inputs, *body.constants, *made}


def _outer_results(loop: Loop) -> Iterator[str]:  # SEMANTICS 1.4
    own = _own(loop.body)
    for result in loop.body.outputs:
        if result not in own:
            yield f"onnxruntime refuses this loop: its body returns the outer value '{result.name}' directly."


def _passed_through(scan: Loop) -> Iterator[str]:  # B9
    for result in scan.body.outputs:
        if result in scan.body.inputs:
            name = result.name
            yield f"onnxruntime would compute wrong values: the body returns its input '{name}' directly."
