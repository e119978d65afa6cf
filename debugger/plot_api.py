"""Figures of what a run did: it is brought to the end of the loop that is meant, and that is drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..runtime.api_boundary import public
from ..runtime.errors import ExecutionError, InputError, InterruptError, LimitError, LoopdbgError, UsageError
from ..runtime.frontends import is_sqlite_file
from ..runtime.model import Data, Model, load
from ..runtime.text import did_you_mean
from .breakpoints.symbol_table import LoopSymbol
from .describe.value_names import quote
from .plots import frame_figures as plots
from .scope.iteration_values import FrameWithHistory
from .session.session import Session
from .session.session_base import SessionBase
from .session.stop import Reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .statistics.value_history import ValueHistory

#: What can be drawn of a loop.
PLOT_KINDS = ("carried", "condition", "scan", "norms")


@dataclass(frozen=True)
class PlotRequest:
    """What is drawn: one of :data:`PLOT_KINDS`, ``name``: only this value; ``loop``: of this loop, by name or path,
    None: the first that may have something; ``entry``: of which of its entries."""

    kind: str = "carried"
    name: str | None = None
    loop: str | None = None
    entry: int = 0

    def check(self, against: bool) -> None:
        """See that it makes sense.

        Raises:
            UsageError: it does not.
        """
        if self.kind not in PLOT_KINDS:
            raise UsageError(f"what is drawn is one of {', '.join(PLOT_KINDS)}, not '{self.kind}'")
        if against and self.kind not in ("carried", "norms"):
            raise UsageError(f"two runs are compared in what is carried, not in '{self.kind}'")
        if self.kind == "condition" and self.name is not None:
            raise UsageError("a loop has one condition; leave the name out")


@public
def plot(
    source: Any,
    name: str | None = None,
    *,
    what: str = "carried",
    loop: str | None = None,
    entry: int = 0,
    against: Any = None,
    inputs: Mapping[str, Data] | None = None,
    max_iterations: int | None = None,
) -> Figure:
    """A Matplotlib figure of what a loop did over its iterations.

    Args:
        source: a model, or what :func:`load` takes, which is run to the end of the loop; the path of a trace; or a
            session or a replay, which is drawn as far as it came, and not moved.
        name: only this value or scan output.
        what: ``carried`` values, the two sides of the ``condition``, a ``scan`` output, or the ``norms`` of carried
            tensors.
        loop: of this loop, by name or path; None: the first one that has something to draw.
        entry: of this entry of a nested loop.
        against: another one of the kinds of ``source``, drawn beside it with how far apart they are.
        inputs: name -> array, of models; ``against`` gets the same.
        max_iterations: draw at most so many iterations of a loop.

    Raises:
        UsageError: there is nothing of the kind to draw, or ``what`` is none of these.
        ModelError, TraceError, InputError, ExecutionError: a model or trace cannot be read or run.

    >>> loopdbg.plot(model, what="condition", inputs=inputs).savefig(os.devnull, format="png")
    >>> loopdbg.plot(session, "err").savefig(os.devnull, format="png")
    """
    wanted = PlotRequest(what, name, loop, entry)
    wanted.check(against is not None)
    with _open_session(source, inputs, max_iterations) as session:
        frame = _frame_to_plot(session, wanted, moves=session is not source)
        if against is None:
            return draw_frame(frame, wanted)
        given = session.inputs if inputs is None else inputs
        one = comparable_histories(frame, wanted)
        label = session.model.name
    if not isinstance(against, SessionBase) and not _is_trace(against):
        against = against if isinstance(against, Model) else load(against)
        given = inputs_for_second_model(against, given, against.name)
    with _open_session(against, given, max_iterations) as session:
        other = comparable_histories(_frame_to_plot(session, wanted, moves=session is not against), wanted)
        labels = [label, session.model.name]
    if labels[0] == labels[1]:
        labels = [f"{labels[0]} (1)", f"{labels[1]} (2)"]
    return draw_comparison((one, other), labels, wanted)


@contextmanager
def _open_session(source: Any, inputs: Mapping[str, Data] | None, limit: int | None) -> Iterator[SessionBase]:
    """What is drawn, under the debugger."""
    if isinstance(source, SessionBase):
        yield source
        return
    if _is_trace(source):
        from .trace.reader import Trace
        from .trace.replay import Replay

        with Trace.open(os.fspath(source)) as trace:
            yield Replay(trace)
        return
    model = source if isinstance(source, Model) else load(source)
    yield Session(model, inputs, max_iterations=limit, attended=False)


def _is_trace(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and is_sqlite_file(source)


def _frame_to_plot(session: SessionBase, wanted: PlotRequest, moves: bool) -> FrameWithHistory:
    place = resolve_loop(session, wanted)
    if not moves:
        running = (frame for frame in (session.frame, *reversed(session.frames)) if frame.loop is not None)
        found = next((frame for frame in running if wanted.loop is None or frame.loop is place.loop), None)
        if found is None:
            raise UsageError(f"no loop '{place.loop.name}' is running here; step into it, or draw the model")
        return found
    early = run_to_loop_end(session, place, wanted.entry)
    # A limit is what was asked for: what ran till then is drawn.
    if early is not None and not isinstance(early, LimitError):
        raise early
    return session.frame


def resolve_loop(session: SessionBase, wanted: PlotRequest) -> LoopSymbol:
    """The loop that is meant; without a name the first one that may have something to draw.

    Raises:
        UsageError: there is none.
    """
    places = session._internals.symbols.loops
    if not places:
        raise UsageError(f"{session.model.name} has no loop to draw; graph draws the model itself")
    if wanted.loop is None:
        return next((one for one in places if plots.can_plot(wanted.kind, one.loop, wanted.name)), places[0])
    found = next((one for one in places if wanted.loop in (one.loop.name, one.path)), None)
    if found is None:
        hint = did_you_mean(wanted.loop, [one.loop.name for one in places])
        have = hint or f"; it has {', '.join(repr(one.loop.name) for one in places)}"
        raise UsageError(f"{session.model.name} has no loop '{wanted.loop}'{have}")
    return found


def run_to_loop_end(
    session: SessionBase, place: LoopSymbol, entry: int = 0, iteration: int | None = None
) -> LoopdbgError | None:
    """Go on to where an entry of a loop ended, or was ended: then what did that is returned. ``iteration``: to the
    boundary before that one instead.

    Raises:
        LimitError, InterruptError: another loop was ended so.
        UsageError: the loop was not entered so often, or has no such iteration.
        ExecutionError: a node failed.
    """
    at = "end" if iteration is None else f"iter {iteration}"
    breakpoint_ = session.breakpoints.add(f"{at} in {quote(place.path)}")
    breakpoint_.ignore = entry
    stop = session._internals.check_breakpoints()
    while breakpoint_.number not in stop.breakpoints:
        if stop.reason in (Reason.LIMIT, Reason.INTERRUPT):
            error = (LimitError if stop.reason is Reason.LIMIT else InterruptError)(stop.text)
            if session.frame.index != place.index:
                raise error
            return error
        if session.done:
            came = "was not entered" if iteration is None else f"has no iteration {iteration}"
            raise UsageError(f"loop '{place.loop.name}' {came}{' so often' if entry else ''}")
        stop = session.continue_()
        if stop.reason is Reason.ERROR:
            raise ExecutionError(stop.text)
    return None


def draw_frame(frame: FrameWithHistory, wanted: PlotRequest) -> Figure:
    """The figure of a frame.

    Raises:
        UsageError: it has nothing of the kind.
    """
    if wanted.kind == "condition":
        return plots.plot_condition(frame)
    draw = {"carried": plots.plot_over_iterations, "scan": plots.plot_scan, "norms": plots.plot_norms}[wanted.kind]
    return draw(frame, wanted.name)


def comparable_histories(frame: FrameWithHistory, wanted: PlotRequest) -> dict[str, ValueHistory]:
    """What of a frame is drawn beside that of another."""
    edges = {edge.param.name for edge in frame.loop.back_edges} if frame.loop is not None else set()
    found = plots.carried_histories(frame, wanted.name)
    return {name: one for name, one in found.items() if name in edges or wanted.name is not None}


def draw_comparison(known: Sequence[Mapping[str, ValueHistory]], labels: Sequence[str], wanted: PlotRequest) -> Figure:
    """The figure of two runs, and of how far apart they are.

    Raises:
        UsageError: they carry nothing of one name.
    """
    from .plots.figures import Curve, plot_difference

    one, other = known
    shared = [name for name in one if name in other and (wanted.kind == "carried" or one[name].is_tensor)]
    if not shared:
        mine, theirs = (", ".join(names) or "nothing" for names in known)
        raise UsageError(f"the loops carry nothing of one name: one has {mine}, the other {theirs}")
    pairs = [
        (Curve(f"{name} in {labels[0]}", one[name]), Curve(f"{name} in {labels[1]}", other[name])) for name in shared
    ]
    return plot_difference(pairs, f"{labels[0]} and {labels[1]}")


def inputs_for_second_model(model: Model, given: Mapping[str, Data], path: str) -> Mapping[str, Data]:
    """The inputs of the first of two runs for the other one, by name.

    Raises:
        InputError: one is missing.
    """
    missing = [port.name for port in model.inputs if port.name not in given and not port.optional]
    if missing:
        raise InputError(f"{path} is given the inputs of the other run, which has none called '{missing[0]}'")
    return {port.name: given[port.name] for port in model.inputs if port.name in given}
