"""The plotting API: runs a model to the end of a loop, and plots the loop's history."""

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
from .session.session import Session
from .session.session_frames import SessionFrame
from .session.stop import Reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .statistics.value_history import ValueHistory

#: The kinds of plots of a loop.
PLOT_KINDS = ("carried", "condition", "scan", "norms")


@dataclass(frozen=True)
class PlotRequest:
    """A requested plot: ``kind``: one of :data:`PLOT_KINDS`; ``name``: only this value; ``loop``: name or path of the
    loop, None for the first with something to plot; ``entry``: the number of the loop's entry."""

    kind: str = "carried"
    name: str | None = None
    loop: str | None = None
    entry: int = 0

    def check(self, against: bool) -> None:
        """Validate the request.

        Raises:
            UsageError: the request is invalid.
        """
        if self.kind not in PLOT_KINDS:
            raise UsageError(
                f"what is drawn is one of {', '.join(PLOT_KINDS)}, not '{self.kind}'",
                name="kind",
                expected=", ".join(PLOT_KINDS),
                got=self.kind,
            )
        if against and self.kind not in ("carried", "norms"):
            raise UsageError(
                f"two runs are compared in what is carried, not in '{self.kind}'", name="kind", got=self.kind
            )
        if self.kind == "condition" and self.name is not None:
            raise UsageError("a loop has one condition; leave the name out", name="name")


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
    """Plot the history of a loop with Matplotlib.

    Args:
        source: a model, or an argument of :func:`load`, which is run to the end of the loop; the path of a trace; or a
            session or a replay, which is plotted up to its current position and not moved.
        name: plot only this value or scan output.
        what: ``carried`` values, the two sides of the ``condition``, a ``scan`` output, or the ``norms`` of carried
            tensors.
        loop: name or path of the loop; None: the first one with something to plot.
        entry: number of the entry of a nested loop.
        against: a second source, plotted together with the difference of both.
        inputs: name -> array, for models; also used for ``against``.
        max_iterations: run each loop for at most this many iterations.

    Returns:
        The figure.

    Raises:
        UsageError: there is nothing to plot, or ``what`` is unknown.
        ModelError, TraceError, InputError, ExecutionError: a model or trace cannot be read or run.

    >>> loopdbg.plot(model, what="condition", inputs=inputs).savefig(os.devnull, format="png")
    >>> loopdbg.plot(session, "err").savefig(os.devnull, format="png")
    """
    request = PlotRequest(what, name, loop, entry)
    request.check(against is not None)
    with _open_session(source, inputs, max_iterations) as session:
        frame = _frame_to_plot(session, request, moves=session is not source)
        if against is None:
            return draw_frame(frame, request)
        second_inputs = session.inputs if inputs is None else inputs
        first = comparable_histories(frame, request)
        label = session.model.name
    if not isinstance(against, Session) and not _is_trace(against):
        against = against if isinstance(against, Model) else load(against)
        second_inputs = inputs_for_second_model(against, second_inputs, against.name)
    with _open_session(against, second_inputs, max_iterations) as session:
        second = comparable_histories(_frame_to_plot(session, request, moves=session is not against), request)
        labels = [label, session.model.name]
    if labels[0] == labels[1]:
        labels = [f"{labels[0]} (1)", f"{labels[1]} (2)"]
    return draw_comparison((first, second), labels, request)


@contextmanager
def _open_session(source: Any, inputs: Mapping[str, Data] | None, limit: int | None) -> Iterator[Session]:
    """Open a source as a session."""
    if isinstance(source, Session):
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


def _frame_to_plot(session: Session, request: PlotRequest, moves: bool) -> SessionFrame:
    symbol = resolve_loop(session, request)
    if not moves:
        running = (frame for frame in (session.frame, *reversed(session.frames)) if frame.loop is not None)
        match = next((frame for frame in running if request.loop is None or frame.loop is symbol.loop), None)
        if match is None:
            raise UsageError(
                f"no loop '{symbol.loop.name}' is running here; step into it, or draw the model", loop=symbol.loop.name
            )
        return match
    error = run_to_loop_end(session, symbol, request.entry)
    # Reaching the iteration limit is no error: plot what ran before it.
    if error is not None and not isinstance(error, LimitError):
        raise error
    return session.frame


def resolve_loop(session: Session, request: PlotRequest) -> LoopSymbol:
    """The requested loop; without a name the first one with something to plot.

    Raises:
        UsageError: there is no such loop.
    """
    symbols = session.controller.symbols.loops
    if not symbols:
        raise UsageError(
            f"{session.model.name} has no loop to draw; graph draws the model itself", name=session.model.name
        )
    if request.loop is None:
        return next((s for s in symbols if plots.can_plot(request.kind, s.loop, request.name)), symbols[0])
    match = next((s for s in symbols if request.loop in (s.loop.name, s.path)), None)
    if match is None:
        hint = did_you_mean(request.loop, [s.loop.name for s in symbols])
        names = hint or f"; it has {', '.join(repr(s.loop.name) for s in symbols)}"
        raise UsageError(f"{session.model.name} has no loop '{request.loop}'{names}", loop=request.loop)
    return match


def run_to_loop_end(
    session: Session, symbol: LoopSymbol, entry: int = 0, iteration: int | None = None
) -> LoopdbgError | None:
    """Run to the end of an entry of a loop, or to the boundary before ``iteration``. Returns the limit or interrupt
    that ended the loop early, or None.

    Raises:
        LimitError, InterruptError: another loop was ended by a limit or an interrupt.
        UsageError: there is no such entry or iteration.
        ExecutionError: a node failed.
    """
    location = "end" if iteration is None else f"iter {iteration}"
    breakpoint_ = session.breakpoints.add(f"{location} in {quote(symbol.path)}")
    breakpoint_.ignore = entry
    stop = session.controller.check_breakpoints()
    while breakpoint_.number not in stop.breakpoints:
        if stop.reason in (Reason.LIMIT, Reason.INTERRUPT):
            error = (LimitError if stop.reason is Reason.LIMIT else InterruptError)(stop.text)
            if session.frame.index != symbol.index:
                raise error
            return error
        if session.done:
            problem = "was not entered" if iteration is None else f"has no iteration {iteration}"
            raise UsageError(
                f"loop '{symbol.loop.name}' {problem}{' so often' if entry else ''}", loop=symbol.loop.name
            )
        stop = session.continue_()
        if stop.reason is Reason.ERROR:
            raise ExecutionError(stop.text)
    return None


def draw_frame(frame: SessionFrame, request: PlotRequest) -> Figure:
    """Plot a frame.

    Raises:
        UsageError: the frame has nothing to plot of this kind.
    """
    if request.kind == "condition":
        return plots.plot_condition(frame)
    draw = {"carried": plots.plot_over_iterations, "scan": plots.plot_scan, "norms": plots.plot_norms}[request.kind]
    return draw(frame, request.name)


def comparable_histories(frame: SessionFrame, request: PlotRequest) -> dict[str, ValueHistory]:
    """The histories of a frame to compare with another run."""
    edges = {edge.param.name for edge in frame.loop.back_edges} if frame.loop is not None else set()
    histories = plots.carried_histories(frame, request.name)
    return {name: h for name, h in histories.items() if name in edges or request.name is not None}


def draw_comparison(runs: Sequence[Mapping[str, ValueHistory]], labels: Sequence[str], request: PlotRequest) -> Figure:
    """Plot two runs and their difference.

    Raises:
        UsageError: the runs have no carried value of the same name.
    """
    from .plots.figures import Curve, plot_difference

    a, b = runs
    common = [name for name in a if name in b and (request.kind == "carried" or a[name].is_tensor)]
    if not common:
        first_names, second_names = (", ".join(names) or "nothing" for names in runs)
        raise UsageError(f"the loops carry nothing of one name: one has {first_names}, the other {second_names}")
    pairs = [(Curve(f"{name} in {labels[0]}", a[name]), Curve(f"{name} in {labels[1]}", b[name])) for name in common]
    return plot_difference(pairs, f"{labels[0]} and {labels[1]}")


def inputs_for_second_model(model: Model, inputs: Mapping[str, Data], name: str) -> Mapping[str, Data]:
    """Select the inputs of the first run for the second model, by name.

    Raises:
        InputError: an input is missing.
    """
    missing = [port.name for port in model.inputs if port.name not in inputs and not port.optional]
    if missing:
        raise InputError(
            f"{name} is given the inputs of the other run, which has none called '{missing[0]}'", name=missing[0]
        )
    return {port.name: inputs[port.name] for port in model.inputs if port.name in inputs}
