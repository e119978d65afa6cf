"""What objects look like in a notebook: short, escaped, in the words that the console has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.graph.origins import Origins
from ....runtime.model import LoopNode, LoopTotals, Model, Port, Run
from ....runtime.text import counted
from ...frame import AnyFrame
from ...session.debuggee import Debuggee
from ...session.frames import Shown
from ...session.stop import Reason, Stop
from ...text import dtype_name, value_text
from ...words.endings import stopper
from ...words.ends import ends
from ...words.moments import given_trip_count, unlimited, when, whose
from ...words.names import named, scan_names
from ...words.node_text import Phrases
from .elements import CELLS, details, heat, line, page, pre, table, text

if TYPE_CHECKING:
    from ...diff.comparing import Diff

_WIDTH = 60
#: What ends them is told of so many loops.
_LOOPS = 20
_BAD = (Reason.ERROR, Reason.LIMIT, Reason.INTERRUPT)


def html(kind: str, thing: Any) -> str:
    """The HTML of an object. ``kind``: what it is, since none of the classes is known to all rooms."""
    return page(*_KINDS[kind](thing))


def _model(model: Model) -> Iterator[str]:
    yield line(model.name, model.graph.system.value)
    yield table(("input", "type", "shape"), map(_port, model.inputs))
    yield table(("output", "type", "shape"), map(_port, model.outputs))
    phrases = Phrases(Origins.of(model.graph))
    found = list(_tree(model.loops))
    told = [
        f"<li><code>{text(node.path)}</code> {text(node.loop.op_type)}"
        f"{text(': ' + ' '.join(ends(node.loop, phrases, False)) if k < _LOOPS else '')}</li>"
        for k, node in enumerate(found)
    ]
    yield f"<ul>{''.join(told[:100])}</ul>" if told else "<p>no loop</p>"


def _port(port: Port) -> tuple[str, str, str]:
    shape = "" if port.shape is None else str(list(port.shape)).replace("'", "")
    return port.name, dtype_name(port.dtype) if port.dtype is not None else str(port.type), shape


def _tree(nodes: Sequence[LoopNode]) -> Iterator[LoopNode]:
    for node in nodes:
        yield node
        yield from _tree(node.children)


def _run(run: Run) -> Iterator[str]:
    if run.message:
        yield line("ended early:", run.message, "bad")
    yield table(("output", "type", "value"), (_value_row(name, value) for name, value in run.outputs.items()))
    yield table(("loop", "iterations", "entries", "ended by", "time"), map(_totals, run.loops))
    yield "".join(f"<p>{text(f'note: {note}')}</p>" for note in run.notes)


def _totals(loop: LoopTotals) -> tuple[str, ...]:
    ended = "" if loop.stopped_by is None else stopper(loop.stopped_by)
    time = f"{loop.seconds * 1e3:.3g} ms" if loop.seconds else ""
    return loop.path, str(loop.iterations), str(loop.entries), ended, time


def _value_row(name: str, value: Any) -> tuple[str, str, str]:
    return name, kind_of(value), value_text(value, _WIDTH)


def kind_of(value: Any) -> str:
    """A value's type in words: ``float32 [3, 4]``."""
    if value is None or isinstance(value, str):
        return ""
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
    return "" if dtype is None else f"{dtype_name(dtype)} {list(shape) if shape else ''}".rstrip()


def _stop(stop: Stop) -> Iterator[str]:
    yield line(stop.reason.value, stop.text, "bad" if stop.reason in _BAD else "good")


def _frame(frame: AnyFrame) -> Iterator[str]:
    if frame.loop is None:
        yield line(frame.path, "the graph around the loops")
        return
    trips = given_trip_count(frame)
    limit = f"trip count {trips}" if trips is not None else unlimited(frame)
    condition = "" if frame.condition is None else f", condition {str(frame.condition).lower()}"
    ended = "" if frame.stopped_by is None else f", ended by {stopper(frame.stopped_by)}"
    yield line(frame.path, f"{when(frame)} ({limit}){condition}{ended}")
    names = [named(edge.param) for edge in frame.loop.back_edges]
    rows = [
        (
            name,
            "" if edge.previous is None else value_text(edge.previous, _WIDTH),
            value_text(edge.value, _WIDTH) if edge.ready else "·",
        )
        for name, edge in zip(names, frame.back_edges, strict=True)
    ]
    yield table(("carried", *whose(frame)), rows)
    yield table(("scan output", "type", "so far", "last"), _scans(frame))


def _scans(frame: AnyFrame) -> Iterator[tuple[str, ...]]:
    for k, name in enumerate(scan_names(frame.loop) if frame.loop is not None else ()):
        count, shape, dtype, tail = frame._inside.scan_tail(k, 1)
        last = value_text(tail[-1], _WIDTH) if tail else ""
        yield name, f"{dtype} {list(shape)}", counted(count, "element"), last


def _session(session: Debuggee) -> Iterator[str]:
    if session.closed:
        yield line("closed")
        return
    yield line(session.model.name)
    yield from _stop(session.stop)
    yield pre(session.listing().lines())
    yield from _frame(session.frame)
    if session.outputs is not None:
        yield table(("output", "type", "value"), (_value_row(*one) for one in session.outputs.items()))


def _diff(diff: Diff) -> Iterator[str]:
    report = str(diff).splitlines()
    yield line(report[0], kind="good" if diff.same else "bad")
    first = diff.first
    if first is not None:
        node = f"{first.op_type} {first.node}".strip() or ", ".join(first.nodes)
        where = "" if first.iteration is None else str(first.iteration)
        head = ("first difference", "iteration", "value", "node", "left", "right")
        values = value_text(first.left, _WIDTH), value_text(first.right, _WIDTH)
        yield table(head, [(first.loop or "main graph", where, first.value, node, *values)])
    yield details("the whole report", pre(report))


def _text(thing: Any) -> Iterator[str]:
    yield pre(str(thing).splitlines())


def _value(shown: Shown) -> Iterator[str]:
    value = shown.value
    if isinstance(value, list | tuple):
        yield line(shown.name, kind_of(value))
        yield table(("", ""), ((str(k), value_text(one, 80)) for k, one in enumerate(value[:CELLS])))
    elif value is None or isinstance(value, str) or np.size(value) <= 1:
        array = value if value is None or isinstance(value, str) else np.asarray(value)
        yield line(shown.name, f"{kind_of(array)} = {value_text(array, 200)}".strip())
    else:
        array = np.asarray(value)
        yield line(shown.name, f"{kind_of(array)} {value_text(array, 100)}") + heat(array)
    if shown.remark:
        yield f"<p>{text(shown.remark.strip(' #'))}</p>"


_KINDS: dict[str, Callable[[Any], Iterator[str]]] = {
    "model": _model,
    "run": _run,
    "stop": _stop,
    "frame": _frame,
    "session": _session,
    "diff": _diff,
    "text": _text,
    "value": _value,
}
