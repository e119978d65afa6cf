"""What ``loopdbg plot`` does: a run to the end of the loop that is meant, and its picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...debugger.plots.files import check_suffix, save, save_drawing
from ...debugger.plotting import Wanted, at_end, beside, drawn, inputs_of_other, place_of, shown_beside
from ...debugger.sweep.read import FORMS
from ...runtime.errors import LoopdbgError, ModelError, UsageError
from ...runtime.frontends import is_database, split
from ...runtime.model import Data, Model
from ...runtime.text import counted
from . import terminal
from .inputs import gather, to_run
from .recorded import names_of_two, opened, weights_of_two

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...debugger.plots.drawing import Drawing
    from ...debugger.session.debuggee import Debuggee
    from ...debugger.values.iterations import TimedFrame


def run(options: argparse.Namespace) -> int:
    """Draw what the options ask for; returns the exit status."""
    path: Path = options.output
    check_suffix(path)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{path.parent}'")
    if options.against is not None and options.what not in ("carried", "norms"):
        raise UsageError(f"--against compares what is carried; leave out --what {options.what}")
    if options.what == "condition" and options.name is not None:
        raise UsageError("--name: a loop has one condition; leave it out")
    if options.iteration is not None and options.what != "graph":
        raise UsageError("--iteration is for --what graph: the others show all iterations")
    if Path(options.model).suffix in FORMS:
        save(_sweep(Path(options.model)), path)
        terminal.out(f"drawn into {path}")
        return 0
    early: list[LoopdbgError] = []
    if options.what == "graph":
        save_drawing(_graph(options, early), path)
    else:
        save((_draw if options.against is None else _beside)(options, early), path)
    terminal.out(f"drawn into {path}" + (", as far as it came" if early else ""))
    if early:
        raise early[0]
    return 0


def _sweep(path: Path) -> Figure:
    """The rows of a sweep."""
    from collections import Counter

    from ...debugger.plots.sweeps import spread
    from ...debugger.sweep.read import read_columns

    if not path.exists():
        raise UsageError(f"{path}: no such file; give the rows that a sweep wrote")
    found = read_columns(path)
    loops = [loop for loop in dict.fromkeys(found.rows["loop"]) if loop]
    shown = [(f"iterations of {loop}", found.numbers("iterations", loop)) for loop in loops]
    for name in found.measures:
        of = [(loop, found.numbers(name, loop)) for loop in loops or [""]]
        shown += [(f"{name} at the end of {loop or 'the model'}", numbers) for loop, numbers in of if numbers]
    statuses = Counter(dict(zip(found.rows["id"], found.rows["status"], strict=True)).values())
    told = ", ".join(f"{status} {count}" for status, count in statuses.most_common())
    return spread(shown, f"{counted(sum(statuses.values()), 'case')}: {told}")


def _draw(options: argparse.Namespace, early: list[LoopdbgError]) -> Figure:
    (weights,) = weights_of_two([options.model], options.weights)
    with _session(options.model, weights, options, None) as session:
        return drawn(_at_end(session, options, early), _wanted(options))


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
        assert frame.loop is not None
        return drawn(main, frame.loop, moments_of(frame), set(walk(frame.loop.body)), options.name)


def _beside(options: argparse.Namespace, early: list[LoopdbgError]) -> Figure:
    known = []
    given: Mapping[str, Data] | None = None
    paths = (options.model, options.against)
    for path, weights in zip(paths, weights_of_two(paths, options.weights), strict=True):
        with _session(path, weights, options, given) as session:
            known.append(shown_beside(_at_end(session, options, early), _wanted(options)))
            given = session.inputs
    return beside(known, names_of_two(paths), _wanted(options))


def _wanted(options: argparse.Namespace) -> Wanted:
    return Wanted(options.what, options.name, options.loop, options.entry)


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
    values = _values(model, options) if given is None else inputs_of_other(model, given, path)
    yield Session(model, values, max_iterations=options.max_iterations, attended=False)


def _values(model: Model, options: argparse.Namespace) -> Mapping[str, Data]:
    inputs = gather(model, options)
    for remark in inputs.remarks:
        terminal.err(f"note: {remark}")
    if inputs.chosen_here:
        terminal.err(f"inputs: {inputs.note}")
    return inputs.values


def _at_end(session: Debuggee, options: argparse.Namespace, early: list[LoopdbgError]) -> TimedFrame:
    """The frame of the loop that is meant, where it ended, or was ended: what did that is put into ``early``."""
    place = place_of(session, _wanted(options))
    first = session._inside.places.loops[0]
    if options.loop is None and place is not first:
        entry = f", entry {options.entry}" if place.parent >= 0 else ""
        terminal.err(f"note: this is loop '{place.loop.name}'{entry}; '{first.loop.name}' has nothing of the kind")
    ended = at_end(session, place, options.entry, options.iteration)
    early += [] if ended is None else [ended]
    return session.frame
