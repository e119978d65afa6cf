"""The state of a stopped engine as comparable bits."""

from __future__ import annotations

import ctypes
from typing import Any

import loopdbg
from comparable_values import all_exact_bits, exact_bits
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame


class CHookView(ctypes.Structure):
    """The view of a boundary that a C hook receives."""

    _fields_ = (
        ("loop", ctypes.c_int),
        ("ended", ctypes.c_int),
        ("iteration", ctypes.c_int64),
        ("ncarried", ctypes.c_int),
        ("carried", ctypes.POINTER(ctypes.c_void_p)),
    )


#: Makes a function a C hook.
CHook = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(CHookView))


def frame_state(frame: Frame) -> dict[str, Any]:
    """Everything that a frame shows."""
    state: dict[str, Any] = {
        "where": (frame.path, frame.iteration, frame.trip_count, frame.condition, frame.stopped_by, frame.at_boundary),
        "values": all_exact_bits(frame.values),
        "nodes": [(n.position, n.state) for n in frame.nodes],
    }
    if frame.loop is not None:
        state["carried"] = all_exact_bits(frame.carried)
        state["edges"] = [(e.param, e.ready, exact_bits(e.previous), exact_bits(e.value)) for e in frame.back_edges]
        state["scans"] = all_exact_bits(frame.scan_outputs)
    return state


def visible_state(engine: Engine) -> dict[str, Any]:
    """Everything that an engine shows: its frames, its position and the totals of its loops."""
    loops = range(len(engine.plan.loops))
    ended = [] if engine.stack or not engine.plan.loops else [k for k in loops if engine.loops.totals(k)[1]][:1]
    return {
        "position": engine.position,
        "states": [engine.loop_state(k) for k in loops],
        "totals": [engine.loops.totals(k)[:3] for k in loops],
        "frames": [frame_state(Frame(engine, k)) for k in (-1, *engine.stack, *ended)],
    }


def slot_index(model: loopdbg.Model, name: str) -> int:
    """The slot of the value with this unique name."""
    (index,) = (index for index, value in enumerate(model.plan.slots) if value.name == name)
    return index


def step(engine: Engine, nodes: bool = True) -> Any:
    """Go to the next boundary of any loop, or with ``nodes`` to the next node."""
    engine.clear_stops()
    if nodes:
        engine.stop_at_node()
    engine.stop_anywhere()
    return resume(engine)


def resume(engine: Engine) -> Any:
    """Why the engine stopped; an error in a node is a stop reason like the others."""
    try:
        return engine.resume()
    except loopdbg.ExecutionError as error:
        return ("error", str(error))


def finish(engine: Engine, model: loopdbg.Model) -> Any:
    """Run to the end; returns the outputs, or the reason why there are none, and the totals."""
    engine.clear_stops()
    what = resume(engine)
    outputs = all_exact_bits(engine.results()) if what[0] == "end" else None
    return what, outputs, [engine.loops.totals(k)[:3] for k in range(len(engine.plan.loops))]
