"""Implements ``loopdbg profile``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ....debugger.plots.figure_files import FIGURE_SUFFIXES, save_figure
from ....debugger.profiling.api import profile_model
from ....debugger.profiling.profile import Profile, profile_lines
from ....debugger.profiling.timeline_files import TIMELINE_SUFFIXES, is_timeline_path, save_timeline
from ....runtime.errors import UsageError
from .. import terminal
from ..model_inputs.gather import gather_inputs, load_runnable_model


def run_profile(options: argparse.Namespace) -> int:
    """Measure a run and report it; returns the exit status."""
    for path in options.output:
        _check_output_path(path)
    model = load_runnable_model(options.model, options.weights, options)
    inputs = gather_inputs(model, options)
    if inputs.chosen_by_default:
        terminal.err(f"inputs: {inputs.note}")
    profile = profile_model(
        model, inputs.values, options.seconds, options.max_iterations, options.against, options.roofline
    )
    if options.json:
        terminal.out_json(profile.to_json())
    else:
        for line in profile_lines(profile, options.nodes):
            terminal.out(line)
    for path in options.output:
        _save_profile(profile, path)
        if not options.json:
            terminal.out(f"written into {path}")
    return 0


def _check_output_path(path: Path) -> None:
    if not (is_timeline_path(path) or path.suffix.lower() in FIGURE_SUFFIXES):
        suffixes = (*FIGURE_SUFFIXES, *TIMELINE_SUFFIXES)
        raise UsageError(f"{path}: name it {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{path.parent}'" if not path.is_dir() else f"{path}: is a folder")


def _save_profile(profile: Profile, path: Path) -> None:
    if is_timeline_path(path):
        save_timeline(profile, path)
        return
    from ....debugger.profiling.iteration_figure import plot_iterations

    save_figure(plot_iterations(profile), path)
