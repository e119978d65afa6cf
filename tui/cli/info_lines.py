"""What ``loopdbg info`` tells of a model, as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ...debugger.words.endings import LoopKind
from ...runtime.text import counted
from .loop_info import variable_line

_SYSTEMS = {"onnx": "ONNX", "openvino": "OpenVINO IR", "tensorrt": "TensorRT"}
#: Of constants that a body captures at most this many are listed.
_CONSTANTS = 6
_WIDTH = 90

Row = tuple[str, str]


def lines(told: dict[str, Any]) -> Iterator[str]:
    """The description as text."""
    # A script imports no operator set: its layers are told by their lines.
    written = {} if told["system"] == "tensorrt" else told["opsets"]
    opsets = ", ".join(_opset(name, version) for name, version in written.items())
    loops = list(_flat(told["loops"]))
    count = "no loop" if not loops else counted(len(loops), "loop")
    yield f"{told['model']}: {_SYSTEMS[told['system']]}{f' ({opsets})' if opsets else ''}, {count}"
    yield ""
    yield from _section("inputs", [(port["name"], _declared(port)) for port in told["inputs"]])
    yield from _section("outputs", [(port["name"], _declared(port)) for port in told["outputs"]])
    yield from _section("variables", [(one["name"], variable_line(one)) for one in told["variables"]])
    tree = [(f"{'  ' * depth}{loop['name']}", f"{loop['op_type']}, {loop['kind']}") for depth, loop in loops]
    yield from _section("loops", tree)
    yield from _section("operators", [(_counts(told["operators"]), "")])
    yield from _section(
        "unsupported", [(f"{one['node']} at {one['path']}", one["reason"]) for one in told["unsupported"]]
    )
    yield from _section("notes", [(note, "") for note in told["notes"]])
    yield from _section(
        "contradicted",
        [(one["name"], f"declared {one['declared']}, computed {one['computed']}") for one in told["contradicted"]],
    )
    for _, loop in loops:
        yield ""
        where = loop["line"] or f"opset {loop['opset']}"
        yield f"{loop['op_type']} '{loop['name']}' ({where}) at {loop['path']}"
        yield from _loop(loop)


def _flat(loops: list[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    for loop in loops:
        yield depth, loop
        yield from _flat(loop["loops"], depth + 1)


def _opset(name: str, version: int) -> str:
    if name.startswith("opset"):
        return name
    return f"{name} {version}" if name else f"opset {version}"


def _declared(port: dict[str, Any]) -> str:
    return f"{_type(port)}, has a default" if port.get("optional") else _type(port)


def _type(port: dict[str, Any]) -> str:
    """A type as text; in words where nothing at all is declared."""
    return "type not declared" if port.get("dtype", "") is None and port["shape"] is None else str(port["type"])


def _counts(operators: dict[str, int]) -> str:
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in operators.items()) or "none"


def _section(title: str, rows: Iterable[Row], indent: str = "  ") -> Iterator[str]:
    """Rows in two columns, the title beside the first; nothing where there are none."""
    rows = list(rows)
    wide = max((len(left) for left, right in rows if right), default=0)
    for left, right in rows:
        yield f"{indent}{title:<19}{f'{left:<{wide}}   {right}' if right else left}".rstrip()
        title = ""


def _loop(loop: dict[str, Any]) -> Iterator[str]:
    yield from _section("made of", [(loop["made_of"], "")] if loop["made_of"] else [])
    yield from _section("kind", [(loop["kind"], "")])
    yield from _section("ends", [(text, "") for text in textwrap.wrap(loop["ends"], _WIDTH)])
    trips = _source(loop["trip_count"], "absent")
    if loop["trip_count"] and loop["kind"] not in (LoopKind.FOR, LoopKind.FOR_WHILE):
        trips += ": no limit"
    yield from _section("trip count", [(trips, "")])
    if (loop["initial_condition"] or loop["condition"]) and not loop["tested_first"]:
        yield from _section("initial condition", [(_source(loop["initial_condition"], "absent: true"), "")])
    yield from _section("condition", [(_condition(loop), "")])
    iteration = loop["iteration"]
    yield from _section(
        "iteration number", [(iteration["name"], _type(iteration))] if iteration else [("not used", "")]
    )
    yield from _section("sliced inputs", [(f"{p['name']} ← {p['from']}", _cut(p)) for p in loop["sliced_inputs"]])
    yield from _section("invariant inputs", [(f"{p['name']} ← {p['from']}", _type(p)) for p in loop["invariants"]])
    yield from _section("captures", _captures(loop["captures"]))
    yield from _section("back edges", [_back_edge(edge) for edge in loop["back_edges"]])
    yield from _section(
        "last-value outputs", [(f"{_output(p)} = {p['result']}", _type(p)) for p in loop["last_values"]]
    )
    yield from _section("scan outputs", [(f"{_output(p)} = {p['result']}", _joined(p)) for p in loop["scan_outputs"]])
    yield from _section("operators", [(_counts(loop["operators"]), "")])
    yield from _section("its own names", list(loop["own_names"].items()))
    yield from _section("notes", [(note, "") for note in loop["notes"]])


def _source(known: dict[str, Any] | None, absent: str) -> str:
    if known is None:
        return absent
    value = known["value"]
    if value is None:
        return f"{known['from']}, known when the loop is entered"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{text} (the constant '{known['from']}')"


def _condition(loop: dict[str, Any]) -> str:
    decided, ignored = loop["condition"], loop["ignored_condition"]
    if decided is None and ignored is None:
        return "absent"
    told = decided or ignored
    text = f"{told['from']} = {told['by']}" if told["by"] else str(told["from"])
    if told["value"] is not None:
        text = _source(told, "")
    if loop["tested_first"]:
        return f"{text}; asked before each iteration"
    return text if decided else f"{text}; ignored, since the loop's cond is absent"


def _cut(port: dict[str, Any]) -> str:
    parts = "" if port["parts"] is None else f": {port['parts']} parts"
    part = ", without the axis" if port["drop_axis"] else f", part size {port['part_size']}"
    where = f"axis {port['axis']}, start {port['start']}, end {port['end']}, stride {port['stride']}"
    if port["from_trip_count"]:
        where = f"axis {port['axis']}, backward from part trip count - 1"
    return f"{_type(port)}, {where}{part}{parts}"


def _captures(captures: list[dict[str, Any]]) -> Iterator[Row]:
    constants = [port for port in captures if port["constant"]]
    yield from ((port["name"], _type(port)) for port in captures if not port["constant"])
    yield from ((port["name"], f"{_type(port)}, constant") for port in constants[:_CONSTANTS])
    if len(constants) > _CONSTANTS:
        yield f"... {len(constants) - _CONSTANTS} more constants", ""


def _back_edge(edge: dict[str, Any]) -> Row:
    initial = edge["initial"]
    first = initial if isinstance(initial, str) else f"part 0 of {initial['from']}"
    return f"{edge['name']} ← {first}, then {edge['result']}", _type(edge)


def _output(port: dict[str, Any]) -> str:
    """A loop output's name, with that under which the model returns it where it has another."""
    names = ", ".join(name for name in port["model_outputs"] if name != port["name"])
    return f"{port['name']} ({names})" if names else str(port["name"])


def _joined(port: dict[str, Any]) -> str:
    how = "stacked on a new axis" if port["join"] == "stack" else "concatenated on axis"
    order = ", the last iteration first" if port["order"] == "reverse" else ""
    length = "" if port["length"] is None else f", zeros up to length {_source(port['length'], '')}"
    return f"{_type(port)}, {how} {port['axis']}{order}{length}"
