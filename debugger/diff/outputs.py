"""What two runs give at their ends. An output that TensorRT pads to a length is compared as far as both sides go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.graph import Graph, Loop, Operation, ScanOutput
from ...runtime.graph.origins import Origins
from ...runtime.graph.slices import from_start, unpadded
from .findings import Comparison, Difference
from .matching import match_names
from .sides import Side
from .values import Tolerance, compare


def compare_outputs(
    result: Comparison, left: Side, right: Side, tolerance: Tolerance, given: Mapping[str, str]
) -> None:
    """Compare the outputs, where both runs came to their ends."""
    if left.outputs is None or right.outputs is None:
        return
    names = match_names(left.outputs, right.outputs, given)
    rooms = _rooms(left.graph), _rooms(right.graph)
    for name, other, _ in names:
        a, b = left.outputs[name], right.outputs[other]
        delta = compare(a, b, tolerance)
        if delta.kind == "shape":
            cut = _common(a, b, rooms[0].get(name), rooms[1].get(other))
            if cut is not None:
                delta = compare(*cut[:2], tolerance)
                room, short = (right.label, left.label) if cut[2] else (left.label, right.label)
                result.note(
                    f"the output '{other if cut[2] else name}' of {room} is padded to {cut[4]}, and {short} has "
                    f"{cut[3]}: the first {cut[3]} are compared"
                )
        result.compared_outputs += 1
        if delta.kind:
            result.outputs.append(Difference("output", name, other, delta, left=a, right=b))
    for label, alone in ((left.label, names.only_left), (right.label, names.only_right)):
        for name in alone:
            result.note(f"the output '{name}' is only in {label}: not compared")


def _rooms(graph: Graph | None) -> dict[str, ScanOutput]:
    """The outputs of a model that a loop fills only as far as it runs, by name."""
    if graph is None:
        return {}
    origins = Origins.of(graph)
    scans = {
        scan.outer: scan
        for node in graph.nodes
        if isinstance(node, Loop)
        for scan in node.scan_outputs
        if scan.length is not None
    }
    found = {}
    for value in graph.outputs:
        whole = origins.origin(value)
        scan = scans.get(whole)
        maker = origins.maker(whole)
        if isinstance(maker, Operation) and maker.op_type == "Reshape" and maker.inputs[0] is not None:
            # Elements that were stacked on axis 0 and are then joined along it: the room is still at the end.
            scan = scans.get(origins.origin(maker.inputs[0]))
            scan = scan if scan is not None and scan.axis == 0 else None
        if scan is not None:
            found[value.name] = scan
    return found


def _common(
    a: Any, b: Any, left: ScanOutput | None, right: ScanOutput | None
) -> tuple[Any, Any, bool, int, int] | None:
    """The parts that both have where nothing but the room for more makes the difference; whether the right one has
    more of it, and both lengths."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.ndim != b.ndim:
        return None
    unequal = [axis for axis in range(a.ndim) if a.shape[axis] != b.shape[axis]]
    if len(unequal) != 1:
        return None
    axis = unequal[0]
    more = b.shape[axis] > a.shape[axis]
    port = right if more else left
    if port is None or from_start(port.axis, a.ndim) != axis:
        return None
    short, long = sorted((a.shape[axis], b.shape[axis]))
    a, b = (a, unpadded(b, port, short)) if more else (unpadded(a, port, short), b)
    return a, b, more, short, long
