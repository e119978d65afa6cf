"""Notes on deviations of OpenVINO's CPU plugin from the specification of loops (docs/semantics.md 1).

Only deviations that follow from the graph alone; docs/check.md has the labels. All were observed in OpenVINO 2026.4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np

from ...graph import Loop, Note, SlicedInput, TensorType, Value, values_read_in_graph
from ...text import count_text

_PLUGIN = "OpenVINO's CPU plugin"


def loop_notes(loop: Loop, ports: Mapping[Value, int]) -> list[str]:
    """The notes on a loop. ``ports``: the external input port that each body Parameter reads."""
    return [
        *_slice_notes(loop),
        *_shared_port_notes(ports),
        *_back_edge_order_notes(loop, ports),
        *_output_notes(loop),
        *_nesting_notes(loop),
        *_fused_cell_notes(loop),
    ]


def _fused_cell_notes(loop: Loop) -> Iterator[Note]:
    """A backwards loop with a cell is fused to a sequence, whose outputs are then treated as forward."""
    cells = [node for node in loop.body.nodes if node.op_type in ("LSTMCell", "GRUCell", "RNNCell")]
    backwards = any(sliced.stride < 0 for sliced in loop.sliced_inputs)
    if loop.counted_by_slices and backwards and len(cells) == 1:
        for scan in loop.scan_outputs:
            if not scan.reverse:
                yield Note(
                    "B34",
                    f"{_PLUGIN} would give other numbers as '{scan.outer.name}' and as last values: it fuses"
                    f" {cells[0].op_type} '{cells[0].name}' to a sequence, and forgets that it is read backwards.",
                )


def _slice_notes(loop: Loop) -> Iterator[Note]:
    carried = [edge.initial for edge in loop.back_edges if isinstance(edge.initial, SlicedInput)]
    for sliced in (*loop.sliced_inputs, *carried):
        if sliced.axis < 0:
            yield Note("B23", f"OpenVINO refuses the negative axis of the sliced input '{sliced.inner.name}'.")
        elif sliced.start != sliced.end and _starts_inside(sliced):
            end = "the front" if sliced.stride > 0 else "the back"
            yield Note(
                "B22",
                f"{_PLUGIN} would slice '{sliced.outer.name}' from {end}: "
                f"it counts with start={sliced.start} but does not move to it, or it refuses the loop.",
            )
    for sliced in carried:
        yield Note(
            "B39",
            f"{_PLUGIN} would ignore the back edge into '{sliced.inner.name}', which is a sliced input too, "
            "and read a new part in every iteration.",
        )


def _starts_inside(sliced: SlicedInput) -> bool:
    """Whether ``start`` is not the end of the tensor at which the stride begins."""
    dim = None
    if isinstance(sliced.outer.type, TensorType) and sliced.outer.type.shape is not None:
        shape = sliced.outer.type.shape
        dim = shape[sliced.axis] if sliced.axis < len(shape) else None
    if sliced.stride > 0:
        # -dim - 1 is the same as 0.
        return sliced.start > 0 or (sliced.start < 0 and isinstance(dim, int) and sliced.start != -dim - 1)
    # -1 and dim are the same position; 0 is an error everywhere.
    return sliced.start < -1 or (sliced.start > 0 and isinstance(dim, int) and sliced.start != dim)


def _shared_port_notes(ports: Mapping[Value, int]) -> Iterator[Note]:
    first: dict[int, Value] = {}
    for parameter, port in ports.items():
        if port in first:
            yield Note(
                "B24",
                f"OpenVINO would give input port {port} to body Parameter '{first[port].name}' alone "
                f"and leave '{parameter.name}' without a value.",
            )
        first.setdefault(port, parameter)


def _back_edge_order_notes(loop: Loop, ports: Mapping[Value, int]) -> Iterator[Note]:
    written = {edge.param: edge.result for edge in loop.back_edges}
    used = values_read_in_graph(loop.body)
    for param, result in written.items():
        # B8: it copies one back edge after another, in the order of the external ports, so that a result that is itself
        # a Parameter may already have the next iteration's value.
        overwritten = result in written and written[result] is not result
        # A carried iteration number has no port and comes last.
        is_written_first = ports.get(result, sys.maxsize) < ports.get(param, sys.maxsize)
        if overwritten and is_written_first and param in used:
            yield Note(
                "B8",
                f"{_PLUGIN} would carry the next iteration's '{result.name}' into '{param.name}': "
                "it writes back edges one after another.",
            )
    names = [
        f"'{edge.param.name}'"
        for edge in loop.back_edges
        if isinstance(edge.param.type, TensorType)
        and edge.param.type.dtype == np.float64
        and edge.result is not edge.param
    ]
    if names:  # 64-bit integers differ only if they exceed 32 bits, which is known at run time
        yield Note(
            "B29",
            f"{_PLUGIN} computes {', '.join(names)} (float64) as float32; its result can differ in the last digits.",
        )


def _output_notes(loop: Loop) -> Iterator[Note]:
    for scan in loop.scan_outputs:
        if scan.axis < 0:
            yield Note(
                "B23",
                f"{_PLUGIN} refuses the loop or returns something else as '{scan.outer.name}': "
                f"it does not concatenate along the negative axis {scan.axis}.",
            )
            continue
        shape = scan.result.type.shape if isinstance(scan.result.type, TensorType) else None
        rows = shape[scan.axis] if shape is not None and scan.axis < len(shape) else None
        if isinstance(rows, int) and rows != scan.part_size:
            yield Note(
                "B46",
                f"{_PLUGIN} refuses the loop: the port map declares part_size {scan.part_size} for the scan output"
                f" '{scan.outer.name}', and each part '{scan.result.name}' has {count_text(rows, 'row')} on axis"
                f" {scan.axis}.",
            )


def _nesting_notes(loop: Loop) -> Iterator[Note]:
    inner_loops = [node for node in loop.body.nodes if isinstance(node, Loop)]
    if loop.trip_count is None and any(inner.trip_count is None for inner in inner_loops):
        yield Note("B41", f"{_PLUGIN} refuses a TensorIterator inside a TensorIterator.")
