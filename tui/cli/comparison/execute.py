"""Implements ``loopdbg diff``: compares two runs, or a run with a live peer, a program or a reference."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from ....debugger.compare.live_peer.peer_comparison import PeerComparison, compare_with_peer
from ....debugger.compare.report import text_report
from ....debugger.compare.report.findings import Comparison
from ....debugger.compare.running.boundary_merge import ComparisonOptions
from ....debugger.compare.running.loop_matching import check_names
from ....debugger.compare.running.map_inputs import inputs_of_model, map_inputs, unmapped_right_ports
from ....debugger.compare.running.recorded_model import compare_runs
from ....debugger.compare.running.sides import ComparisonSide, ModelSide, TraceSide, open_side
from ....debugger.compare.running.stateful_unroll import requests_as_loops
from ....debugger.compare.running.value_comparison import Tolerance
from ....debugger.peers.process import Peer
from ....debugger.reference.reference_files import is_reference
from ....runtime.errors import InputError, InterruptError, ModelError, UnsupportedError, UsageError
from ....runtime.frontends import is_sqlite_file
from ....runtime.model import Data, Model, Run
from ...config import setting_value
from .. import terminal
from ..model_inputs.gather import apply_requests_option, gather_inputs, load_runnable_model, set_state
from ..model_or_trace import distinct_labels, pair_weights
from ..options import effective_tolerances, parse_pairs
from ..progress import ProgressLine, ProgressLog
from ..remedies import error_text, reword_comparison
from . import json_report
from .peer_spec import parse_peer_spec


def run_diff(options: argparse.Namespace) -> int:
    """Compare and print the report; returns the exit status."""
    result = _compare(options)
    if options.json:
        terminal.out_json(json_report.comparison_json(result))
    else:
        for line in _report_lines(result):
            terminal.out(line)
    if result.error is not None:
        raise result.error
    status: int = result.verdict.status
    return status


def diff_report_lines(options: argparse.Namespace) -> Iterator[str]:
    """The lines of the report, for other front ends."""
    result = _compare(options)
    if isinstance(result.error, InterruptError):
        raise result.error
    error = [] if result.error is None else [error_text(result.error)]
    return itertools.chain(_report_lines(result), error)


def _compare(options: argparse.Namespace) -> Comparison | PeerComparison:
    _check_options(options)
    result: Comparison | PeerComparison = (
        _compare_with_peer(options)
        if options.against
        else _compare_if_reference(options) or _compare_two_sides(options)
    )
    comparisons = result.comparisons if isinstance(result, PeerComparison) else [result]
    if all(comparison.empty and comparison.error is None for comparison in comparisons):
        notes = "; ".join(text_report.unique_notes(comparisons))
        raise UnsupportedError(f"nothing could be compared: {notes or 'neither has a loop or an output'}")
    return result


def _report_lines(result: Comparison | PeerComparison) -> Iterator[str]:
    for comparison in result.comparisons if isinstance(result, PeerComparison) else [result]:
        reword_comparison(comparison)
    return text_report.report_lines(result)


def _check_options(options: argparse.Namespace) -> None:
    if options.against is None and options.b is None:
        default = setting_value("peer")
        options.against = None if default is None else parse_peer_spec(default)
    if options.against is None:
        if options.b is None:
            raise UsageError("diff needs two things to compare: loopdbg diff A B, or loopdbg diff MODEL --against PEER")
        for option in ("lockstep", "free", "timeout", "peer_option", "ort_custom_ops"):
            if getattr(options, option):
                raise UsageError(f"--{option.replace('_', '-')} is about a live peer: it needs --against")
    elif options.b is not None:
        raise UsageError(f"--against compares one model with a peer or program: leave out '{options.b}'")
    elif options.map and not options.against.is_torch:
        raise UsageError("--map is for two models: a live peer has the names of the model")


def _compare_options(options: argparse.Namespace, progress: ProgressLine | None = None) -> ComparisonOptions:
    def show_if_due(run: Run, is_rerun: bool) -> None:
        if progress is not None:
            progress.show_if_due(run, "looking for the cause: " if is_rerun else "comparing: ")

    return ComparisonOptions(
        Tolerance(*effective_tolerances(options)),
        parse_pairs(options.map, "--map", "A=B"),
        options.loop,
        show_if_due,
        reports_partial=True,
    )


def _progress_display() -> ProgressLine:
    return ProgressLine(sys.stderr) if sys.stderr.isatty() else ProgressLog(sys.stderr, "", lambda path: "")


def _compare_with_peer(options: argparse.Namespace) -> Any:
    if options.against.is_torch:
        from .reference import compare_with_torch

        return compare_with_torch(options, _compare_options(options))
    if is_sqlite_file(options.a):
        raise UsageError(f"{options.a}: is a trace, and a peer can run a model only")
    settings = parse_pairs(options.peer_option, "--peer-option", "K=V")
    libraries = options.ort_custom_ops
    if libraries and options.against.name != "onnxruntime":
        raise UsageError(f"--ort-custom-ops is about onnxruntime: leave out '{libraries[0]}'")
    with Peer(options.against.text, options.timeout or 60.0, options=settings, libraries=libraries) as peer:
        model = load_runnable_model(options.a, pair_weights([options.a], options.weights)[0], options)
        inputs = gather_inputs(model, options)
        inputs.print_notes()
        both_modes = options.lockstep == options.free
        with _progress_display() as progress:
            return compare_with_peer(
                model,
                inputs.values,
                peer,
                _compare_options(options, progress),
                limit=options.max_iterations,
                lockstep=both_modes or options.lockstep,
                free=both_modes or options.free,
            )


def _compare_if_reference(options: argparse.Namespace) -> Any:
    """The comparison with a reference if one side is a reference, else None."""
    if not (is_reference(options.a) or is_reference(options.b)):
        return None
    from .reference import compare_with_reference

    with _progress_display() as progress:
        return compare_with_reference(options, _compare_options(options, progress))


def _compare_two_sides(options: argparse.Namespace) -> Any:
    with ExitStack() as stack:
        paths = (options.a, options.b)
        sources = []
        for path, weights in zip(paths, pair_weights(paths, options.weights), strict=True):
            source = open_side(path, weights)
            sources.append(source)
            if not isinstance(source, Model):
                stack.callback(source.trace.close)
        settings = _compare_options(options)
        sources = _apply_state_and_requests(sources, options, settings.names)
        inputs = _shared_inputs(sources, argparse.Namespace(**{**vars(options), "state": []}), settings.names)
        sides: list[ComparisonSide] = []
        for source, label in zip(sources, distinct_labels(paths), strict=True):
            if not isinstance(source, Model):
                source.label = label
                sides.append(source)
                continue
            is_first = source is sources[0]
            values = inputs_of_model(inputs, source) if is_first else map_inputs(inputs, source, settings.names)
            try:
                sides.append(ModelSide(source, values, options.max_iterations, label))
            except InputError as error:
                problem = f"{label} is given the inputs of {options.a}"
                raise InputError(f"{problem}: {error_text(error)}; --map NAME=NAME pairs names") from None
        try:
            check_names(sides[0], sides[1], settings.names)
        except UsageError as error:
            raise UsageError(f"--map {error}") from None
        with _progress_display() as progress:
            return compare_runs(sides[0], sides[1], _compare_options(options, progress), options.max_iterations)


def _apply_state_and_requests(
    sources: list[Model | TraceSide], options: argparse.Namespace, names: Mapping[str, str]
) -> list[Model | TraceSide]:
    """Set the variables of models. If one is a loop and the other is run once per iteration of it, convert the other to
    a loop over requests."""
    set_state([source for source in sources if isinstance(source, Model)], options.state)
    left, right = (
        apply_requests_option(source, options) if isinstance(source, Model) else source for source in sources
    )
    if options.requests is not None or not isinstance(left, Model) or not isinstance(right, Model):
        return [left, right]
    return list(requests_as_loops(left, right, names))


def _shared_inputs(
    sources: list[Model | TraceSide], options: argparse.Namespace, names: Mapping[str, str]
) -> Mapping[str, Data]:
    """The inputs of both runs: those of a trace, else those of the options for the first model, and for what only the
    other one takes."""
    trace = next((source for source in sources if not isinstance(source, Model)), None)
    if trace is None:
        model, other = sources
        assert isinstance(model, Model) and isinstance(other, Model)
        inputs = gather_inputs(model, options, unmapped_right_ports(model, other, names))
        inputs.print_notes()
        return inputs.values
    for option in ("input", "inputs", "seed", "dim"):
        if getattr(options, option) not in (None, []):
            raise UsageError(f"--{option}: {trace.label} is a trace, which has its inputs")
    if len(sources) - sum(isinstance(source, Model) for source in sources) == 2 and options.max_iterations:
        raise UsageError("--max-iterations: two traces are there already; nothing is run")
    inputs = trace.trace.inputs
    if not isinstance(inputs, Mapping):
        raise ModelError(f"{trace.label}: the trace holds no inputs")
    return inputs
