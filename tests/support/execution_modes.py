"""Every execution mode of a model, with the results that must be equal in all of them, bit for bit."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import loopdbg
from comparable_values import all_exact_bits, exact_bits
from engine_state import CHook, step
from loopdbg.debugger.session.boundary import Boundary, read_boundary
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.session.stop import Reason
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.recorder import Recorder
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.errors import LoopdbgError, UsageError
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.kernels import thread_pool
from loopdbg.runtime.run_result import run_totals
from optimizer_access import set_optimizer_options
from strategies.draws import ChoiceSource

#: The boundaries of an entry that are inspected: the first ones, and then every n-th.
FIRST_INSPECTED_ITERATIONS, INSPECTION_INTERVAL = 12, 89

Outcome = tuple[Any, ...]


@contextmanager
def split_for_threads(threads: int) -> Iterator[None]:
    """Split products and convolutions for that many threads, however small they are."""
    size = thread_pool.pool_size()
    thread_pool.configure(threads, 0)
    try:
        yield
    finally:
        thread_pool.configure(size)


def loop_totals(loops: list[loopdbg.LoopTotals]) -> list[Any]:
    """The totals of loops, without their times."""
    return [(t.path, t.iterations, t.entries, t.stopped_by, dict(t.reasons), t.trip_count) for t in loops]


def run_outcome(call: Callable[[], Outcome]) -> Outcome:
    """The outputs of a run, or the error that ended it; only errors of ours are caught."""
    try:
        return call()
    except LoopdbgError as error:
        return "error", type(error).__name__, str(error)


def run_headless(model: loopdbg.Model, inputs: Mapping[str, Any], **more: Any) -> Outcome:
    """A headless run: why it stopped, its outputs and its loops."""

    def run() -> Outcome:
        run = model.execute(inputs, **more)
        return run.stopped_by, run.message, all_exact_bits(run.outputs), loop_totals(run.loops)

    return run_outcome(run)


def is_inspected(iteration: int) -> bool:
    return iteration <= FIRST_INSPECTED_ITERATIONS or iteration % INSPECTION_INTERVAL == 0


def frame_values(frame: Frame) -> Any:
    """The values of a frame at a boundary, in the oracle's order."""
    state = (frame.path, frame.entry, frame.iteration, frame.stopped_by, frame.condition)
    if not is_inspected(frame.iteration):
        return state
    edges = [(e.param, e.ready, exact_bits(e.previous), exact_bits(e.value)) for e in frame.back_edges]
    return (*state, all_exact_bits(frame.carried), all_exact_bits(frame.scan_outputs), edges)


def run_with_hook(model: loopdbg.Model, inputs: Mapping[str, Any]) -> tuple[Outcome, list[Any]]:
    """A run with a Python hook, and the boundaries that it saw."""
    seen: list[Any] = []
    return run_headless(model, inputs, on_iteration=lambda frame: seen.append(frame_values(frame))), seen


def _end_outcome(model: loopdbg.Model, engine: Engine, what: Any) -> Outcome:
    assert what[0] == "end", what
    return None, "", all_exact_bits(engine.results()), loop_totals(run_totals(engine))


def run_on_engine(
    model: loopdbg.Model,
    inputs: Mapping[str, Any],
    prepare: Callable[[Engine], object] = lambda engine: None,
    drive: Callable[[Engine], Any] = lambda engine: engine.resume(),
    plain: bool = False,
) -> Outcome:
    """A run on a separate engine; ``plain``: one without an optimizer."""

    def run() -> Outcome:
        engine = Engine(model.plan, baseline=plain)
        prepare(engine)
        engine.start(model.check(inputs))
        engine.set_limits(None, refuse_endless=True)
        return _end_outcome(model, engine, drive(engine))

    return run_outcome(run)


def use_python_only(engine: Engine) -> None:
    engine.binder.native_enabled = False


def compile_at_once(engine: Engine) -> None:
    set_optimizer_options(engine, hot_after=1)


def never_compile(engine: Engine) -> None:
    set_optimizer_options(engine, hot_after=-1)


def stop_at_nodes(limit: int) -> Callable[[Engine], Any]:
    """Stop before each of the first nodes, and then run on."""

    def drive(engine: Engine) -> Any:
        for _ in range(limit):
            what = step(engine)
            if what[0] in ("end", "error"):
                break
        else:
            engine.clear_stops()
            return engine.resume()
        return what if what[0] == "end" else engine.resume()

    return drive


def run_with_c_hook(model: loopdbg.Model, inputs: Mapping[str, Any]) -> tuple[Outcome, list[Any]]:
    """A run with a C hook, and the boundaries at which it was called."""
    seen: list[Any] = []

    @CHook
    def hook(context: int, view: Any) -> int:
        seen.append((model.plan.loops[view.contents.loop].path, view.contents.iteration))
        return 0

    def prepare(engine: Engine) -> None:
        engine.set_c_hook(ctypes.cast(hook, ctypes.c_void_p).value or 0)

    return run_on_engine(model, inputs, prepare), seen


def run_recorded(model: loopdbg.Model, inputs: Mapping[str, Any]) -> tuple[Outcome, list[Any], list[Any]]:
    """A recorded run, its boundaries, and the contents of the trace."""
    seen: list[Boundary] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.loopdb"

        def run() -> Outcome:
            with Recorder(path, model, inputs) as recorder:

                def hook(frame: Frame) -> None:
                    seen.append(read_boundary(frame))
                    recorder(frame)

                run = model.execute(inputs, on_iteration=hook)
                recorder.finish(run)
            return run.stopped_by, run.message, all_exact_bits(run.outputs), loop_totals(run.loops)

        ended = run_outcome(run)
        with Trace.open(path) as trace:
            kept = [boundary for loop in trace.loops for boundary in trace.boundaries(loop.path)]

    def order(b: Boundary) -> Any:
        return b.loop, b.entry, b.iteration

    def row(b: Boundary) -> Any:
        return order(b), b.condition, b.ended, all_exact_bits(b.carried), all_exact_bits(b.scanned)

    return ended, [row(b) for b in sorted(seen, key=order)], [row(b) for b in sorted(kept, key=order)]


def _session_outcome(session: Session) -> Outcome:
    if session.outputs is not None:
        return None, "", all_exact_bits(session.outputs), loop_totals(session.totals)
    return "stopped", session.stop.reason, session.stop.text


def run_session(model: loopdbg.Model, inputs: Mapping[str, Any]) -> tuple[Outcome, list[Any]]:
    """A session that goes from boundary to boundary of every loop, and the contents of its frames."""
    seen: list[Any] = []

    def run() -> Outcome:
        session = loopdbg.debug(model, inputs)
        engine = session.controller.engine
        moves = 0
        while not session.done:
            if engine.stack and engine.pc == engine.plan.loops[engine.stack[-1]].head:
                seen.append(frame_values(Frame(engine, engine.stack[-1])))
            moves += 1
            stop = session.step() if moves < 150 else session.continue_()
            if stop.reason in (Reason.ERROR, Reason.LIMIT, Reason.INTERRUPT):
                break
        return _session_outcome(session)

    return run_outcome(run), seen


def run_time_travel(model: loopdbg.Model, inputs: Mapping[str, Any], draw: ChoiceSource) -> Outcome:
    """A session that goes forwards and backwards at random, and then to the end."""

    def run() -> Outcome:
        session = loopdbg.debug(model, inputs)
        for _ in range(draw.integer(3, 14)):
            word, count = (
                draw.pick(("step", "next", "into", "finish", "back", "back", "node", "goto")),
                draw.integer(1, 3),
            )
            try:
                match word:
                    case "step":
                        session.step(count)
                    case "next":
                        session.next_node(count)
                    case "into":
                        session.into()
                    case "finish":
                        session.finish()
                    case "back":
                        session.back(count)
                    case "node":
                        session.back_node(count)
                    case "goto":
                        session.goto(count * 3)
            except UsageError:
                continue
        for _ in range(3):
            if session.done or session.stop.reason is Reason.ERROR:
                break
            session.continue_()
        return _session_outcome(session)

    return run_outcome(run)
