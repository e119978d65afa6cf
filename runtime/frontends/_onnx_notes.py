"""Where onnxruntime or OpenVINO does something else with an ONNX loop than its written spec (SEMANTICS 0.2).

Only what a look at the model tells for certain; the labels are those of SEMANTICS' table B. All of it was
seen in onnxruntime 1.31 and OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..graph import If, Loop, OptionalType, SequenceType, TensorType, Value
from ..origins import Origins

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
        *_outer_results(loop),
    ]


def scan_notes(scan: Loop) -> list[str]:
    """One sentence a finding about a Scan."""
    return [*_passed_through(scan), *_back_edges(scan), *_outputs(scan)]


def _condition(loop: Loop, sources: Sources) -> Iterator[str]:  # B1, B2
    ignored = loop.ignored_condition
    # Runtimes start with true, so a condition that is handed on stays true.
    if ignored is None or sources.origin(ignored) is loop.condition_input:
        return
    number = sources.scalar(ignored)
    if number is None:
        yield (
            f"onnxruntime and OpenVINO would stop once the body's condition '{ignored.name}' is false, "
            "although the loop's cond is absent."
        )
    elif not number:
        yield (
            "onnxruntime and OpenVINO would stop after one iteration: the body's condition "
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
    written: set[Value] = set()
    for edge in loop.back_edges:
        if edge.result in written:
            yield (
                f"OpenVINO would carry the next iteration's '{edge.result.name}' into "
                f"'{edge.param.name}': it writes back edges one after another."
            )
        if edge.result is not edge.param:
            written.add(edge.param)


def _zero_trips(loop: Loop, sources: Sources) -> Iterator[str]:
    trips = sources.scalar(loop.trip_count)
    if trips is not None and trips < 0:  # B14
        yield f"OpenVINO would take the trip count {trips} for no limit; by the specification nothing runs."
    false = sources.scalar(loop.initial_condition)
    if false is not None and not false and loop.back_edges and loop.scan_outputs:  # B16
        yield "OpenVINO would return initial values as scan outputs, since the loop's cond is always false."


def _outputs(loop: Loop) -> Iterator[str]:
    if None in loop.outputs and not loop.counted_by_slices:  # B17
        crashes = None in loop.outputs[: len(loop.back_edges)]
        yield f"onnxruntime {'would crash on' if crashes else 'refuses'} the omitted output of this loop."
    for scan in loop.scan_outputs:
        if isinstance(scan.result.type, TensorType) and scan.result.type.dtype == np.dtype(object):  # B10
            name = scan.outer.name
            yield f"onnxruntime would fill only the first row of '{name}', a scan output of strings."


def _outer_results(loop: Loop) -> Iterator[str]:  # SEMANTICS 1.4
    body = loop.body
    own = {*body.inputs, *body.constants, *(value for node in body.nodes for value in node.outputs)}
    for result in body.outputs:
        if result not in own:
            yield f"onnxruntime refuses this loop: its body returns the outer value '{result.name}' directly."


def _passed_through(scan: Loop) -> Iterator[str]:  # B9
    for result in scan.body.outputs:
        if result in scan.body.inputs:
            name = result.name
            yield f"onnxruntime would compute wrong values: the body returns its input '{name}' directly."
