"""Text output of ``loopdbg info``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ....debugger.describe.termination import LoopKind
from ....runtime.text import count_text
from .model_info import variable_line

_SYSTEM_TITLES = {"onnx": "ONNX", "openvino": "OpenVINO IR", "tensorrt": "TensorRT"}
#: Most captured constants that are listed.
_LISTED_CONSTANTS_MAX = 6
_TEXT_WIDTH = 90

InfoRow = tuple[str, str]


def model_info_lines(info: dict[str, Any]) -> Iterator[str]:
    """The description as text."""
    # A TensorRT script has no operator set.
    versions = {} if info["system"] == "tensorrt" else info["opsets"]
    opsets = ", ".join(_opset_text(name, version) for name, version in versions.items())
    loops = list(_flatten_loops(info["loops"]))
    count = "no loop" if not loops else count_text(len(loops), "loop")
    yield f"{info['model']}: {_SYSTEM_TITLES[info['system']]}{f' ({opsets})' if opsets else ''}, {count}"
    yield ""
    yield from _section_lines("inputs", [(port["name"], _declared_type_text(port)) for port in info["inputs"]])
    yield from _section_lines("outputs", [(port["name"], _declared_type_text(port)) for port in info["outputs"]])
    yield from _section_lines("variables", [(row["name"], variable_line(row)) for row in info["variables"]])
    tree = [(f"{'  ' * depth}{loop['name']}", f"{loop['op_type']}, {loop['kind']}") for depth, loop in loops]
    yield from _section_lines("loops", tree)
    yield from _section_lines("operators", [(_operator_counts_text(info["operators"]), "")])
    yield from _section_lines(
        "unsupported", [(f"{row['node']} at {row['path']}", row["reason"]) for row in info["unsupported"]]
    )
    yield from _section_lines("notes", [(note, "") for note in info["notes"]])
    yield from _section_lines(
        "contradicted",
        [(row["name"], f"declared {row['declared']}, computed {row['computed']}") for row in info["contradicted"]],
    )
    for _, loop in loops:
        yield ""
        origin = loop["line"] or f"opset {loop['opset']}"
        yield f"{loop['op_type']} '{loop['name']}' ({origin}) at {loop['path']}"
        yield from _loop_lines(loop)


def _flatten_loops(loops: list[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    for loop in loops:
        yield depth, loop
        yield from _flatten_loops(loop["loops"], depth + 1)


def _opset_text(name: str, version: int) -> str:
    if name.startswith("opset"):
        return name
    return f"{name} {version}" if name else f"opset {version}"


def _declared_type_text(port: dict[str, Any]) -> str:
    return f"{_type_text(port)}, has a default" if port.get("optional") else _type_text(port)


def _type_text(port: dict[str, Any]) -> str:
    """A type as text, or a remark if none is declared."""
    return "type not declared" if port.get("dtype", "") is None and port["shape"] is None else str(port["type"])


def _operator_counts_text(operators: dict[str, int]) -> str:
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in operators.items()) or "none"


def _section_lines(title: str, rows: Iterable[InfoRow], indent: str = "  ") -> Iterator[str]:
    """Rows in two columns with the title in the first row; empty without rows."""
    rows = list(rows)
    width = max((len(left) for left, right in rows if right), default=0)
    for left, right in rows:
        yield f"{indent}{title:<19}{f'{left:<{width}}   {right}' if right else left}".rstrip()
        title = ""


def _loop_lines(loop: dict[str, Any]) -> Iterator[str]:
    yield from _section_lines("made of", [(loop["made_of"], "")] if loop["made_of"] else [])
    yield from _section_lines("kind", [(loop["kind"], "")])
    yield from _section_lines("ends", [(text, "") for text in textwrap.wrap(loop["ends"], _TEXT_WIDTH)])
    if loop["iterations"]["shown"]:
        lines = textwrap.wrap(loop["iterations"]["text"], _TEXT_WIDTH)
        yield from _section_lines("iterations", [(text, "") for text in lines])
    trips = _source_text(loop["trip_count"], "absent")
    if loop["trip_count"] and loop["kind"] not in (LoopKind.FOR, LoopKind.FOR_WHILE):
        trips += ": no limit"
    yield from _section_lines("trip count", [(trips, "")])
    if (loop["initial_condition"] or loop["condition"]) and not loop["tested_first"]:
        yield from _section_lines("initial condition", [(_source_text(loop["initial_condition"], "absent: true"), "")])
    yield from _section_lines("condition", [(_condition_text(loop), "")])
    iteration = loop["iteration"]
    yield from _section_lines(
        "iteration number", [(iteration["name"], _type_text(iteration))] if iteration else [("not used", "")]
    )
    yield from _section_lines(
        "sliced inputs", [(f"{p['name']} ← {p['from']}", _slice_text(p)) for p in loop["sliced_inputs"]]
    )
    yield from _section_lines(
        "invariant inputs", [(f"{p['name']} ← {p['from']}", _type_text(p)) for p in loop["invariants"]]
    )
    yield from _section_lines("captures", _capture_rows(loop["captures"]))
    yield from _section_lines("back edges", [_back_edge_row(edge) for edge in loop["back_edges"]])
    yield from _section_lines(
        "last-value outputs", [(f"{_output_name(p)} = {p['result']}", _type_text(p)) for p in loop["last_values"]]
    )
    yield from _section_lines(
        "scan outputs", [(f"{_output_name(p)} = {p['result']}", _concatenation_text(p)) for p in loop["scan_outputs"]]
    )
    yield from _section_lines("operators", [(_operator_counts_text(loop["operators"]), "")])
    yield from _section_lines("its own names", list(loop["own_names"].items()))
    yield from _section_lines("notes", [(note, "") for note in loop["notes"]])


def _source_text(source: dict[str, Any] | None, absent: str) -> str:
    if source is None:
        return absent
    value = source["value"]
    if value is None:
        return f"{source['from']}, known when the loop is entered"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{text} (the constant '{source['from']}')"


def _condition_text(loop: dict[str, Any]) -> str:
    deciding, ignored = loop["condition"], loop["ignored_condition"]
    if deciding is None and ignored is None:
        return "absent"
    condition = deciding or ignored
    text = f"{condition['from']} = {condition['by']}" if condition["by"] else str(condition["from"])
    if condition["value"] is not None:
        text = _source_text(condition, "")
    if loop["tested_first"]:
        return f"{text}; asked before each iteration"
    return text if deciding else f"{text}; ignored, since the loop's cond is absent"


def _slice_text(port: dict[str, Any]) -> str:
    parts = "" if port["parts"] is None else f": {port['parts']} parts"
    part = ", without the axis" if port["drop_axis"] else f", part size {port['part_size']}"
    bounds = f"axis {port['axis']}, start {port['start']}, end {port['end']}, stride {port['stride']}"
    if port["from_trip_count"]:
        bounds = f"axis {port['axis']}, backward from part trip count - 1"
    return f"{_type_text(port)}, {bounds}{part}{parts}"


def _capture_rows(captures: list[dict[str, Any]]) -> Iterator[InfoRow]:
    constants = [port for port in captures if port["constant"]]
    yield from ((port["name"], _type_text(port)) for port in captures if not port["constant"])
    yield from ((port["name"], f"{_type_text(port)}, constant") for port in constants[:_LISTED_CONSTANTS_MAX])
    if len(constants) > _LISTED_CONSTANTS_MAX:
        yield f"... {len(constants) - _LISTED_CONSTANTS_MAX} more constants", ""


def _back_edge_row(edge: dict[str, Any]) -> InfoRow:
    initial = edge["initial"]
    first = initial if isinstance(initial, str) else f"part 0 of {initial['from']}"
    return f"{edge['name']} ← {first}, then {edge['result']}", _type_text(edge)


def _output_name(port: dict[str, Any]) -> str:
    """A loop output's name, with its name as a model output if that differs."""
    aliases = ", ".join(name for name in port["model_outputs"] if name != port["name"])
    return f"{port['name']} ({aliases})" if aliases else str(port["name"])


def _concatenation_text(port: dict[str, Any]) -> str:
    join = "stacked on a new axis" if port["join"] == "stack" else "concatenated on axis"
    order = ", the last iteration first" if port["order"] == "reverse" else ""
    length = "" if port["length"] is None else f", zeros up to length {_source_text(port['length'], '')}"
    return f"{_type_text(port)}, {join} {port['axis']}{order}{length}"
