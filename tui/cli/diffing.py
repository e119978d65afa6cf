"""What ``loopdbg diff`` does: two runs, or a run and a live peer, a program or a reference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from ...debugger.diff import report
from ...debugger.diff.findings import Comparison
from ...debugger.diff.given import renamed
from ...debugger.diff.live import Live, compare_live
from ...debugger.diff.matching import unknown_name
from ...debugger.diff.requests import as_the_loop
from ...debugger.diff.sides import ModelSide, Side, TraceSide, open_side
from ...debugger.diff.streams import Options, compare_sides
from ...debugger.diff.values import Tolerance
from ...debugger.peers.process import Peer
from ...debugger.reference.files import is_reference
from ...runtime.errors import InputError, ModelError, UnsupportedError, UsageError
from ...runtime.frontends import is_database
from ...runtime.model import Data, Model, Run
from ..config import value
from . import diff_json, terminal
from .against import against
from .inputs import as_requests, gather, give_state, to_run
from .options import named, tolerances
from .progress import Late, Progress
from .recorded import names_of_two, weights_of_two
from .remedies import reworded
from .remedies import told as told_of


def run(options: argparse.Namespace) -> int:
    """Compare, and tell what was found; returns the exit status."""
    found = _found(options)
    if options.json:
        terminal.out_json(diff_json.as_json(found))
    else:
        for line in _lines(found):
            terminal.out(line)
    error = found.error if isinstance(found, Comparison) else None
    if error is not None:
        raise error
    status: int = found.verdict.status
    return status


def told(options: argparse.Namespace) -> Iterator[str]:
    """The report, line by line, for another front end."""
    return _lines(_found(options))


def _found(options: argparse.Namespace) -> Comparison | Live:
    _check(options)
    found: Comparison | Live = _against(options) if options.against else _reference(options) or _two(options)
    comparisons = found.comparisons if isinstance(found, Live) else [found]
    if all(comparison.empty and comparison.error is None for comparison in comparisons):
        notes = "; ".join(report.notes(comparisons))
        raise UnsupportedError(f"nothing could be compared: {notes or 'neither has a loop or an output'}")
    return found


def _lines(found: Comparison | Live) -> Iterator[str]:
    for comparison in found.comparisons if isinstance(found, Live) else [found]:
        reworded(comparison)
    return report.lines(found)


def _check(options: argparse.Namespace) -> None:
    if options.against is None and options.b is None:
        usual = value("peer")
        options.against = None if usual is None else against(usual)
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


def _options(options: argparse.Namespace, progress: Progress | None = None) -> Options:
    def tick(run: Run, again: bool) -> None:
        if progress is not None:
            progress.tick(run, "looking for the cause: " if again else "comparing: ")

    return Options(Tolerance(*tolerances(options)), named(options.map, "--map", "A=B"), options.loop, tick)


def _progress() -> Progress:
    return Progress(sys.stderr) if sys.stderr.isatty() else Late(sys.stderr, "", lambda path: "")


def _against(options: argparse.Namespace) -> Any:
    if options.against.is_torch:
        from .diff_torch import compare

        return compare(options, _options(options))
    if is_database(options.a):
        raise UsageError(f"{options.a}: is a trace, and a peer can run a model only")
    settings = named(options.peer_option, "--peer-option", "K=V")
    libraries = options.ort_custom_ops
    if libraries and options.against.name != "onnxruntime":
        raise UsageError(f"--ort-custom-ops is about onnxruntime: leave out '{libraries[0]}'")
    with Peer(options.against.text, options.timeout or 60.0, options=settings, libraries=libraries) as peer:
        model = to_run(options.a, weights_of_two([options.a], options.weights)[0], options)
        inputs = gather(model, options)
        _remark(inputs.remarks, inputs.note if inputs.chosen_here else "")
        both = options.lockstep == options.free
        with _progress() as progress:
            return compare_live(
                model,
                inputs.values,
                peer,
                _options(options, progress),
                limit=options.max_iterations,
                lockstep=both or options.lockstep,
                free=both or options.free,
            )


def _reference(options: argparse.Namespace) -> Any:
    """The comparison with a reference where one of the two is one, else None."""
    if not (is_reference(options.a) or is_reference(options.b)):
        return None
    from .diff_reference import compare

    with _progress() as progress:
        return compare(options, _options(options, progress))


def _two(options: argparse.Namespace) -> Any:
    with ExitStack() as opened:
        paths = (options.a, options.b)
        sources = []
        for path, weights in zip(paths, weights_of_two(paths, options.weights), strict=True):
            source = open_side(path, weights)
            sources.append(source)
            if not isinstance(source, Model):
                opened.callback(source.trace.close)
        settings = _options(options)
        sources = _requested(sources, options, settings.names)
        given = _inputs(sources, argparse.Namespace(**{**vars(options), "state": []}))
        sides: list[Side] = []
        for source, label in zip(sources, names_of_two(paths), strict=True):
            if not isinstance(source, Model):
                source.label = label
                sides.append(source)
                continue
            values = given if source is sources[0] else renamed(given, source, settings.names)
            try:
                sides.append(ModelSide(source, values, options.max_iterations, label))
            except InputError as error:
                where = f"{label} is given the inputs of {options.a}"
                raise InputError(f"{where}: {told_of(error)}; --map NAME=NAME pairs names") from None
        unknown = unknown_name(sides[0], sides[1], settings.names)
        if unknown is not None:
            name, why = unknown
            raise UsageError(f"--map {name}={settings.names[name]}: {why}")
        with _progress() as progress:
            return compare_sides(sides[0], sides[1], _options(options, progress))


def _requested(
    sources: list[Model | TraceSide], options: argparse.Namespace, names: Mapping[str, str]
) -> list[Model | TraceSide]:
    """Models with their variables as they are given. Where one is a loop, and the other is run once for each iteration
    of it, its runs are a loop as well."""
    give_state([source for source in sources if isinstance(source, Model)], options.state)
    left, right = (as_requests(one, options) if isinstance(one, Model) else one for one in sources)
    if options.requests is not None or not isinstance(left, Model) or not isinstance(right, Model):
        return [left, right]
    back = {there: here for here, there in names.items()}
    return [as_the_loop(left, right, back) or left, as_the_loop(right, left, names) or right]


def _inputs(sources: list[Model | TraceSide], options: argparse.Namespace) -> Mapping[str, Data]:
    """The inputs of both runs: those of a trace, else what the options say of the first model."""
    trace = next((source for source in sources if not isinstance(source, Model)), None)
    if trace is None:
        model = sources[0]
        assert isinstance(model, Model)
        inputs = gather(model, options)
        _remark(inputs.remarks, inputs.note if inputs.chosen_here else "")
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


def _remark(remarks: tuple[str, ...], chosen: str) -> None:
    for remark in remarks:
        terminal.err(f"note: {remark}")
    if chosen:
        terminal.err(f"inputs: {chosen}")
