"""HTML representations of objects for notebooks: short, escaped, with the terms of the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.frame import frame_reader
from ....runtime.graph.producers import ProducerMap
from ....runtime.model import LoopNode, LoopTotals, Model, Port, Run
from ....runtime.text import count_text
from ...describe.frame_text import back_edge_labels, declared_trip_count, no_limit_reason, position_text
from ...describe.node_text import NodeFormatter
from ...describe.termination import loop_end_cause
from ...describe.termination_text import termination_sentences
from ...describe.value_names import display_name, scan_names
from ...frame_protocol import FrameProtocol, FrameReader
from ...session.session import Session
from ...session.session_frames import DisplayValue
from ...session.stop import Reason, Stop
from ...value_text import dtype_name, value_text
from .html_elements import (
    HEATMAP_MAX_SIDE,
    details,
    escape_text,
    heatmap,
    html_fragment,
    paragraph,
    preformatted,
    table,
)

if TYPE_CHECKING:
    from ...compare.api import Diff

_VALUE_WIDTH_CHARS = 60
#: Maximum number of loops with a description of their termination.
_MAX_DESCRIBED_LOOPS = 20
_FAILURE_REASONS = (Reason.ERROR, Reason.LIMIT, Reason.INTERRUPT)


def render_html(kind: str, value: Any) -> str:
    """The HTML of an object. ``kind``: its kind, since not all packages can import the classes."""
    return html_fragment(*_RENDERERS[kind](value))


def _model_html(model: Model) -> Iterator[str]:
    yield paragraph(model.name, model.graph.system.value)
    yield table(("input", "type", "shape"), map(_port_row, model.inputs))
    yield table(("output", "type", "shape"), map(_port_row, model.outputs))
    formatter = NodeFormatter(ProducerMap.for_graph(model.graph))
    loops = list(_flatten_loops(model.loops))
    ends = (
        ": " + " ".join(termination_sentences(node.loop, formatter, False)) if k < _MAX_DESCRIBED_LOOPS else ""
        for k, node in enumerate(loops)
    )
    items = [
        f"<li><code>{escape_text(node.path)}</code> {escape_text(node.loop.op_type)}{escape_text(end)}</li>"
        for node, end in zip(loops, ends, strict=True)
    ]
    yield f"<ul>{''.join(items[:100])}</ul>" if items else "<p>no loop</p>"


def _port_row(port: Port) -> tuple[str, str, str]:
    shape = "" if port.shape is None else str(list(port.shape)).replace("'", "")
    return port.name, dtype_name(port.dtype) if port.dtype is not None else str(port.type), shape


def _flatten_loops(nodes: Sequence[LoopNode]) -> Iterator[LoopNode]:
    for node in nodes:
        yield node
        yield from _flatten_loops(node.children)


def _run_html(run: Run) -> Iterator[str]:
    if run.message:
        yield paragraph("ended early:", run.message, "bad")
    yield table(("output", "type", "value"), (_value_row(name, value) for name, value in run.outputs.items()))
    yield table(("loop", "iterations", "entries", "ended by", "time"), map(_totals_row, run.loops))
    yield "".join(f"<p>{escape_text(f'note: {note}')}</p>" for note in run.notes)


def _totals_row(loop: LoopTotals) -> tuple[str, ...]:
    ended = "" if loop.stopped_by is None else loop_end_cause(loop.stopped_by)
    time = f"{loop.seconds * 1e3:.3g} ms" if loop.seconds else ""
    return loop.path, str(loop.iterations), str(loop.entries), ended, time


def _value_row(name: str, value: Any) -> tuple[str, str, str]:
    return name, type_text(value), value_text(value, _VALUE_WIDTH_CHARS)


def type_text(value: Any) -> str:
    """The type of a value as text: ``float32 [3, 4]``."""
    if value is None or isinstance(value, str):
        return ""
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
    return "" if dtype is None else f"{dtype_name(dtype)} {list(shape) if shape else ''}".rstrip()


def _stop_html(stop: Stop) -> Iterator[str]:
    yield paragraph(stop.reason.value, stop.text, "bad" if stop.reason in _FAILURE_REASONS else "good")


def _frame_html(shown: FrameProtocol) -> Iterator[str]:
    frame: FrameReader = frame_reader(shown)
    if frame.loop is None:
        yield paragraph(frame.path, "the graph around the loops")
        return
    trips = declared_trip_count(frame)
    limit = f"trip count {trips}" if trips is not None else no_limit_reason(frame)
    condition = "" if frame.condition is None else f", condition {str(frame.condition).lower()}"
    ended = "" if frame.stopped_by is None else f", ended by {loop_end_cause(frame.stopped_by)}"
    yield paragraph(frame.path, f"{position_text(frame)} ({limit}){condition}{ended}")
    names = [display_name(edge.param) for edge in frame.loop.back_edges]
    rows = [
        (
            name,
            "" if edge.previous is None else value_text(edge.previous, _VALUE_WIDTH_CHARS),
            value_text(edge.value, _VALUE_WIDTH_CHARS) if edge.ready else "·",
        )
        for name, edge in zip(names, frame.back_edges, strict=True)
    ]
    yield table(("carried", *back_edge_labels(frame)), rows)
    yield table(("scan output", "type", "so far", "last"), _scan_rows(frame))


def _scan_rows(frame: FrameReader) -> Iterator[tuple[str, ...]]:
    for k, name in enumerate(scan_names(frame.loop) if frame.loop is not None else ()):
        count, shape, dtype, tail = frame.scan_tail(k, 1)
        newest = value_text(tail[-1], _VALUE_WIDTH_CHARS) if tail else ""
        yield name, f"{dtype} {list(shape)}", count_text(count, "element"), newest


def _session_html(session: Session) -> Iterator[str]:
    if session.closed:
        yield paragraph("closed")
        return
    yield paragraph(session.model.name)
    yield from _stop_html(session.stop)
    yield preformatted(session.listing().lines())
    yield from _frame_html(session.frame)
    if session.outputs is not None:
        yield table(("output", "type", "value"), (_value_row(*item) for item in session.outputs.items()))


def _diff_html(diff: Diff) -> Iterator[str]:
    report = str(diff).splitlines()
    yield paragraph(report[0], kind="good" if diff.same else "bad")
    first = diff.first
    if first is not None:
        node = f"{first.op_type} {first.node}".strip() or ", ".join(first.nodes)
        iteration = "" if first.iteration is None else str(first.iteration)
        head = ("first difference", "iteration", "value", "node", "left", "right")
        values = value_text(first.left, _VALUE_WIDTH_CHARS), value_text(first.right, _VALUE_WIDTH_CHARS)
        yield table(head, [(first.loop or "main graph", iteration, first.value, node, *values)])
    yield details("the whole report", preformatted(report))


def _text_html(value: Any) -> Iterator[str]:
    yield preformatted(str(value).splitlines())


def _value_html(display: DisplayValue) -> Iterator[str]:
    value = display.value
    if isinstance(value, list | tuple):
        yield paragraph(display.name, type_text(value))
        yield table(("", ""), ((str(k), value_text(item, 80)) for k, item in enumerate(value[:HEATMAP_MAX_SIDE])))
    elif value is None or isinstance(value, str) or np.size(value) <= 1:
        array = value if value is None or isinstance(value, str) else np.asarray(value)
        yield paragraph(display.name, f"{type_text(array)} = {value_text(array, 200)}".strip())
    else:
        array = np.asarray(value)
        yield paragraph(display.name, f"{type_text(array)} {value_text(array, 100)}") + heatmap(array)
    if display.remark:
        yield f"<p>{escape_text(display.remark.strip(' #'))}</p>"


_RENDERERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "model": _model_html,
    "run": _run_html,
    "stop": _stop_html,
    "frame": _frame_html,
    "session": _session_html,
    "diff": _diff_html,
    "text": _text_html,
    "value": _value_html,
}
