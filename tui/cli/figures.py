"""Implements ``loopdbg plot``: runs to the end of the selected loop and draws it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...debugger.plot_api import (
    PlotRequest,
    comparable_histories,
    draw_comparison,
    draw_frame,
    inputs_for_second_model,
    resolve_loop,
    run_to_loop_end,
)
from ...debugger.plots.figure_files import check_figure_suffix, save_drawing, save_figure
from ...debugger.sweep.read_rows import ROW_FILE_SUFFIXES
from ...runtime.errors import LoopdbgError, ModelError, UsageError, missing_folder_error
from ...runtime.frontends import is_sqlite_file, split_model_path
from ...runtime.model import Data, Model
from ...runtime.text import count_text
from . import terminal
from .model_inputs.gather import gather_inputs, load_runnable_model
from .model_or_trace import distinct_labels, open_recording, pair_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...debugger.plots.vector_drawing import VectorDrawing
    from ...debugger.session.session import Session
    from ...debugger.session.session_frames import SessionFrame


def draw_plot(options: argparse.Namespace) -> int:
    """Draw what the options ask for; returns the exit status."""
    path: Path = options.output
    check_figure_suffix(path)
    if not path.absolute().parent.is_dir():
        raise missing_folder_error(path, path.parent)
    if options.against is not None and options.what not in ("carried", "norms"):
        raise UsageError(f"--against compares what is carried; leave out --what {options.what}")
    if options.what == "condition" and options.name is not None:
        raise UsageError("--name: a loop has one condition; leave it out")
    if options.iteration is not None and options.what != "graph":
        raise UsageError("--iteration is for --what graph: the others show all iterations")
    if Path(options.model).suffix in ROW_FILE_SUFFIXES:
        save_figure(_sweep_figure(Path(options.model)), path)
        terminal.out(f"drawn into {path}")
        return 0
    errors: list[LoopdbgError] = []
    if options.what == "graph":
        save_drawing(_graph_drawing(options, errors), path)
    else:
        save_figure((_loop_figure if options.against is None else _comparison_figure)(options, errors), path)
    terminal.out(f"drawn into {path}" + (", as far as it came" if errors else ""))
    if errors:
        raise errors[0]
    return 0


def _sweep_figure(path: Path) -> Figure:
    """Histograms of the rows of a sweep."""
    from collections import Counter

    from ...debugger.plots.sweep_histograms import plot_histograms
    from ...debugger.sweep.read_rows import read_columns

    if not path.exists():
        raise UsageError(f"{path}: no such file; give the rows that a sweep wrote")
    table = read_columns(path)
    loops = [loop for loop in dict.fromkeys(table.rows["loop"]) if loop]
    series = [(f"iterations of {loop}", table.finite_numbers("iterations", loop)) for loop in loops]
    for name in table.measures:
        ends = [(loop, table.finite_numbers(name, loop)) for loop in loops or [""]]
        series += [(f"{name} at the end of {loop or 'the model'}", numbers) for loop, numbers in ends if numbers]
    statuses = Counter(dict(zip(table.rows["id"], table.rows["status"], strict=True)).values())
    summary = ", ".join(f"{status} {count}" for status, count in statuses.most_common())
    return plot_histograms(series, f"{count_text(sum(statuses.values()), 'case')}: {summary}")


def _loop_figure(options: argparse.Namespace, errors: list[LoopdbgError]) -> Figure:
    (weights,) = pair_weights([options.model], options.weights)
    with _open_session(options.model, weights, options, None) as session:
        return draw_frame(_run_to_loop_end(session, options, errors), _plot_request(options))


def _graph_drawing(options: argparse.Namespace, errors: list[LoopdbgError]) -> VectorDrawing:
    """The loop as a graph, with nested graphs; the main graph of a model without loops."""
    from ...debugger.graphview.node_overlay import frames_by_loop
    from ...debugger.plots.loop_svg import draw_loop
    from ...runtime.graph import MAIN, walk

    (weights,) = pair_weights([options.model], options.weights)
    with _open_session(options.model, weights, options, None) as session:
        main = session.model.graph
        if not session.controller.symbols.loops or options.loop == MAIN:
            session.continue_()
            return draw_loop(main, None, frames_by_loop(session.frame), set(walk(main)), options.name)
        frame = _run_to_loop_end(session, options, errors)
        assert frame.loop is not None
        return draw_loop(main, frame.loop, frames_by_loop(frame), set(walk(frame.loop.body)), options.name)


def _comparison_figure(options: argparse.Namespace, errors: list[LoopdbgError]) -> Figure:
    histories = []
    inputs: Mapping[str, Data] | None = None
    paths = (options.model, options.against)
    for path, weights in zip(paths, pair_weights(paths, options.weights), strict=True):
        with _open_session(path, weights, options, inputs) as session:
            histories.append(comparable_histories(_run_to_loop_end(session, options, errors), _plot_request(options)))
            inputs = session.inputs
    return draw_comparison(histories, distinct_labels(paths), _plot_request(options))


def _plot_request(options: argparse.Namespace) -> PlotRequest:
    return PlotRequest(options.what, options.name, options.loop, options.entry)


@contextmanager
def _open_session(
    path: str, weights: str | None, options: argparse.Namespace, inputs: Mapping[str, Data] | None
) -> Iterator[Session]:
    """A session of a model or a trace. ``inputs``: the inputs of the run to compare with."""
    file, _ = split_model_path(path)
    if not file.exists():
        raise ModelError(f"{file}: no such file; give the path of a model or a trace")
    if is_sqlite_file(path):
        # In a comparison, input options apply to the model.
        input_options = options if inputs is None and options.against is None else argparse.Namespace()
        with open_recording(argparse.Namespace(**{**vars(input_options), "model": path})) as replay:
            yield replay
        return
    from ...debugger.session.session import Session

    model = load_runnable_model(path, weights, options)
    values = _gather_input_values(model, options) if inputs is None else inputs_for_second_model(model, inputs, path)
    yield Session(model, values, max_iterations=options.max_iterations, attended=False)


def _gather_input_values(model: Model, options: argparse.Namespace) -> Mapping[str, Data]:
    inputs = gather_inputs(model, options)
    inputs.print_notes()
    return inputs.values


def _run_to_loop_end(session: Session, options: argparse.Namespace, errors: list[LoopdbgError]) -> SessionFrame:
    """The frame of the selected loop at its end; an error that ended it is appended to ``errors``."""
    target = resolve_loop(session, _plot_request(options))
    first = session.controller.symbols.loops[0]
    if options.loop is None and target is not first:
        entry = f", entry {options.entry}" if target.parent >= 0 else ""
        terminal.err(f"note: this is loop '{target.loop.name}'{entry}; '{first.loop.name}' has nothing of the kind")
    error = run_to_loop_end(session, target, options.entry, options.iteration)
    errors += [] if error is None else [error]
    return session.frame
