"""What ``loopdbg plot`` does: a run to the end of the loop that is meant, and its picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...debugger.plots.files import check_suffix, save, save_drawing
from ...runtime.errors import (
    ExecutionError,
    InputError,
    InterruptError,
    LimitError,
    LoopdbgError,
    ModelError,
    UsageError,
)
from ...runtime.frontends import is_database, split
from ...runtime.model import Data, Model
from ...runtime.text import did_you_mean
from . import terminal
from .inputs import gather, to_run
from .recorded import names_of_two, opened, weights_of_two

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...debugger.breakpoints.places import LoopPlace
    from ...debugger.plots.drawing import Drawing
    from ...debugger.session.debuggee import Debuggee


def run(options: argparse.Namespace) -> int:
    """Draw what the options ask for; returns the exit status."""
    path: Path = options.output
    check_suffix(path)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{path.parent}'")
    if options.against is not None and options.what not in ("carried", "norms"):
        raise UsageError(f"--against compares what is carried; leave out --what {options.what}")
    if options.iteration is not None and options.what != "graph":
        raise UsageError("--iteration is for --what graph: the others show all iterations")
    early: list[LoopdbgError] = []
    if options.what == "graph":
        save_drawing(_graph(options, early), path)
    else:
        save((_draw if options.against is None else _beside)(options, early), path)
    terminal.out(f"drawn into {path}" + (", as far as it came" if early else ""))
    if early:
        raise early[0]
    return 0


def _draw(options: argparse.Namespace, early: list[LoopdbgError]) -> Figure:
    from ...debugger.plots import frames

    (weights,) = weights_of_two([options.model], options.weights)
    with _session(options.model, weights, options, None) as session:
        frame = _at_end(session, options, early)
        if options.what == "condition":
            if options.name is not None:
                raise UsageError("--name: a loop has one condition; leave it out")
            return frames.condition(frame)
        draw = {"carried": frames.over_iterations, "scan": frames.scan, "norms": frames.norms}[options.what]
        return draw(frame, options.name)


def _graph(options: argparse.Namespace, early: list[LoopdbgError]) -> Drawing:
    """The loop as a graph, with what is inside of it; the main graph of a model without loops."""
    from ...debugger.picture.moment import moments_of
    from ...debugger.plots.loop_svg import drawn
    from ...runtime.graph import MAIN, walk

    (weights,) = weights_of_two([options.model], options.weights)
    with _session(options.model, weights, options, None) as session:
        main = session.model.graph
        if not session._inside.places.loops or options.loop == MAIN:
            session.continue_()
            return drawn(main, None, moments_of(session.frame), set(walk(main)), options.name)
        frame = _at_end(session, options, early)
        return drawn(main, frame.loop, moments_of(frame), set(walk(frame.loop.body)), options.name)


def _beside(options: argparse.Namespace, early: list[LoopdbgError]) -> Figure:
    from ...debugger.plots import frames
    from ...debugger.plots.figures import Curve, apart

    known = []
    given: Mapping[str, Data] | None = None
    paths = (options.model, options.against)
    for path, weights in zip(paths, weights_of_two(paths, options.weights), strict=True):
        with _session(path, weights, options, given) as session:
            frame = _at_end(session, options, early)
            given = session.inputs
            edges = {edge.param.name for edge in frame.loop.back_edges}
            found = frames.carried(frame, options.name)
            known.append({name: one for name, one in found.items() if name in edges or options.name is not None})
    one, other = known
    shared = [name for name in one if name in other and (options.what == "carried" or one[name].is_tensor)]
    if not shared:
        mine, theirs = (", ".join(names) or "nothing" for names in known)
        raise UsageError(f"the loops carry nothing of one name: one has {mine}, the other {theirs}")
    labels = names_of_two(paths)
    pairs = [
        (Curve(f"{name} in {labels[0]}", one[name]), Curve(f"{name} in {labels[1]}", other[name])) for name in shared
    ]
    return apart(pairs, f"{labels[0]} and {labels[1]}")


@contextmanager
def _session(
    path: str, weights: str | None, options: argparse.Namespace, given: Mapping[str, Data] | None
) -> Iterator[Debuggee]:
    """A model or a trace under the debugger. ``given``: the inputs of the run that it is compared with."""
    file, _ = split(path)
    if not file.exists():
        raise ModelError(f"{file}: no such file; give the path of a model or a trace")
    if is_database(path):
        # Of two, the inputs are those of the one that runs.
        asked = options if given is None and options.against is None else argparse.Namespace()
        with opened(argparse.Namespace(**{**vars(asked), "model": path})) as replay:
            yield replay
        return
    from ...debugger.session.session import Session

    model = to_run(path, weights, options)
    values = _values(model, options) if given is None else _taken(model, given, path)
    yield Session(model, values, max_iterations=options.max_iterations, attended=False)


def _values(model: Model, options: argparse.Namespace) -> Mapping[str, Data]:
    inputs = gather(model, options)
    for remark in inputs.remarks:
        terminal.err(f"note: {remark}")
    if inputs.chosen_here:
        terminal.err(f"inputs: {inputs.note}")
    return inputs.values


def _taken(model: Model, given: Mapping[str, Data], path: str) -> Mapping[str, Data]:
    """The inputs of the other run, by name."""
    names = [port.name for port in model.inputs]
    missing = [port.name for port in model.inputs if port.name not in given and not port.optional]
    if missing:
        raise InputError(f"{path} is given the inputs of the other run, which has none called '{missing[0]}'")
    return {name: given[name] for name in names if name in given}


def _meant(places: Sequence[LoopPlace], options: argparse.Namespace) -> LoopPlace | None:
    """The loop that is asked for; without a name the first one that may have something to draw."""
    if options.loop is not None:
        return next((one for one in places if options.loop in (one.loop.name, one.path)), None)
    from ...debugger.plots.frames import may_draw

    found = next((one for one in places if may_draw(options.what, one.loop, options.name)), places[0])
    if found is not places[0]:
        entry = f", entry {options.entry}" if found.parent >= 0 else ""
        terminal.err(f"note: this is loop '{found.loop.name}'{entry}; '{places[0].loop.name}' has nothing of the kind")
    return found


def _at_end(session: Debuggee, options: argparse.Namespace, early: list[LoopdbgError]) -> Any:
    """The frame of the loop that is meant, where it ended, or was ended: what did that is put into ``early``."""
    from ...debugger.session.stop import Reason
    from ...debugger.words.names import quote

    places = session._inside.places.loops
    if not places:
        raise UsageError(f"{session.model.name} has no loop to draw")
    place = _meant(places, options)
    if place is None:
        hint = did_you_mean(options.loop, [one.loop.name for one in places])
        have = hint or f"; it has {', '.join(repr(one.loop.name) for one in places)}"
        raise UsageError(f"{session.model.name} has no loop '{options.loop}'{have}")
    at = "end" if options.iteration is None else f"iter {options.iteration}"
    breakpoint_ = session.breakpoints.add(f"{at} in {quote(place.path)}")
    breakpoint_.ignore = options.entry
    stop = session._inside.check()
    while breakpoint_.number not in stop.breakpoints:
        if stop.reason in (Reason.LIMIT, Reason.INTERRUPT):
            error = (LimitError if stop.reason is Reason.LIMIT else InterruptError)(stop.text)
            if session.frame.index != place.index:
                raise error
            early.append(error)
            break
        if session.done:
            came = "was not entered" if options.iteration is None else f"has no iteration {options.iteration}"
            raise UsageError(f"loop '{place.loop.name}' {came}{' so often' if options.entry else ''}")
        stop = session.continue_()
        if stop.reason is Reason.ERROR:
            raise ExecutionError(stop.text)
    return session.frame
