"""Names of a loop's ports in its own system, by the names that loopdbg uses for all systems."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.graph import Loop, ScanOutput, System

_ONNX = {
    "trip count": "M",
    "initial condition": "cond",
    "condition": "the body's first output",
    "iteration number": "the body's first input",
    "back edges": "loop-carried dependencies",
    "last-value outputs": "v_final",
    "scan outputs": "scan_outputs",
}
_SCAN = {
    "sliced inputs": "scan inputs",
    "back edges": "state variables",
    "last-value outputs": "final_state",
    "scan outputs": "scan_outputs",
}
_OPENVINO = {
    "trip count": "trip_count",
    "initial condition": "execution_condition",
    "condition": "the body's condition output",
    "iteration number": "current_iteration",
    "sliced inputs": "port_map input with axis",
    "invariant inputs": "port_map input without axis",
    "back edges": "back_edges",
    "last-value outputs": "port_map output without axis",
    "scan outputs": "port_map output with axis",
}
_TENSORRT = {
    "trip count": "ITripLimitLayer, TripLimit.COUNT",
    "condition": "ITripLimitLayer, TripLimit.WHILE",
    "sliced inputs": "IIteratorLayer",
    "back edges": "IRecurrenceLayer",
    "last-value outputs": "ILoopOutputLayer, LoopOutput.LAST_VALUE",
}


def system_port_names(loop: Loop) -> Mapping[str, str]:
    """Our name -> the system's name, for the ports that a loop has."""
    ports_by_title = {
        "trip count": loop.trip_count,
        "initial condition": loop.initial_condition,
        "condition": loop.condition,
        "iteration number": loop.iteration,
        "sliced inputs": loop.sliced_inputs,
        "invariant inputs": loop.invariants,
        "back edges": loop.back_edges,
        "last-value outputs": loop.last_values,
        "scan outputs": loop.scan_outputs,
    }
    names = _names_of_system(loop)
    return {title: names[title] for title, ports in ports_by_title.items() if ports and title in names}


def _names_of_system(loop: Loop) -> Mapping[str, str]:
    if loop.system is System.OPENVINO:
        return _OPENVINO
    if loop.system is System.ONNX:
        return _SCAN if loop.counted_by_slices else _ONNX
    kinds = dict.fromkeys(map(_loop_output_kind, loop.scan_outputs))
    return _TENSORRT | {"scan outputs": f"ILoopOutputLayer, {' and '.join(kinds)}"}


def _loop_output_kind(port: ScanOutput) -> str:
    return "LoopOutput.REVERSE" if port.reverse else "LoopOutput.CONCATENATE"
