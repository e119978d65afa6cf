"""``loopdbg diff``: where two runs differ, or a run and a live peer."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ...runtime.errors import InputError, ModelError, UnsupportedError, UsageError
from ...runtime.frontends import is_database
from ...runtime.model import Data, Model, Run
from . import terminal
from .against import against
from .command import Command
from .inputs import as_requests, gather, give_state, to_run
from .options import add_run_options, add_weights_of_two
from .progress import Late, Progress
from .recorded import names_of_two, weights_of_two
from .remedies import reworded, told

if TYPE_CHECKING:
    from ...debugger.diff.sides import Side, TraceSide
    from ...debugger.diff.streams import Options


class Diff(Command):
    """Compares two runs boundary by boundary."""

    name = "diff"
    summary = """\
Compare two runs: two models, two traces, a model and a trace, a model and the
values of a reference (.npz, ONNX test data), or a model and another runtime.
Tells the first iteration and node that differ, how often each loop ran, and how
the difference grows."""
    examples = """\
examples:
  loopdbg diff model.onnx converted.xml
  loopdbg diff model.onnx run.loopdb --loop decode
  loopdbg diff model.onnx reference.npz
  loopdbg diff model.onnx --against onnxruntime --json
  loopdbg diff model.onnx --against torch:program.pt2

exit status: 0 the same, 6 they differ, 4 the same up to a limit (or a loop that
nothing can end), 8 not all could be compared (a value that one side lacks, a
peer that refused or crashed), 1 bad model or input, 2 wrong usage,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg diff A B [options]\n       loopdbg diff MODEL --against PEER [options]"
        parser.add_argument("a", metavar="A", help="a model or a trace")
        parser.add_argument("b", metavar="B", nargs="?", help="what to compare it with")
        add_weights_of_two(parser)
        add_run_options(parser)
        how = parser.add_argument_group("comparing")
        how.add_argument("--rtol", type=_tolerance, metavar="R", help="relative tolerance of floats (by dtype)")
        how.add_argument("--atol", type=_tolerance, metavar="T", help="absolute tolerance of floats (by dtype)")
        how.add_argument(
            "--loop", action="append", default=[], metavar="NAME", help="only this loop, by name or path; repeatable"
        )
        how.add_argument(
            "--map", action="append", default=[], metavar="A=B", help="loop or value A is called B there; repeatable"
        )
        how.add_argument(
            "--against",
            type=against,
            metavar="PEER",
            help="compare with a runtime, live: onnxruntime, openvino; or torch:FILE.pt2, the PyTorch program that the "
            "model was exported from",
        )
        how.add_argument("--lockstep", action="store_true", help="the peer from our values in each iteration, alone")
        how.add_argument("--free", action="store_true", help="the peer runs the whole model, alone")
        how.add_argument(
            "--timeout", type=_seconds, metavar="S", help="give the peer up after S seconds without an answer (60)"
        )
        how.add_argument(
            "--peer-option",
            action="append",
            default=[],
            metavar="K=V",
            help="a setting of the peer by its own name: a property of OpenVINO's CPU plugin, an attribute or entry of "
            "onnxruntime's SessionOptions; repeatable",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def run(self, options: argparse.Namespace) -> int:
        # Here, since --help needs none of it.
        from ...debugger.diff import report
        from ...debugger.diff.findings import Comparison
        from ...debugger.diff.live import Live
        from . import diff_json

        _check(options)
        found = _against(options) if options.against else _reference(options) or _two(options)
        comparisons = found.comparisons if isinstance(found, Live) else [found]
        if all(comparison.empty and comparison.error is None for comparison in comparisons):
            notes = "; ".join(report.notes(comparisons))
            raise UnsupportedError(f"nothing could be compared: {notes or 'neither has a loop or an output'}")
        if options.json:
            terminal.out_json(diff_json.as_json(found))
        else:
            for comparison in comparisons:
                reworded(comparison)
            for line in report.lines(found):
                terminal.out(line)
        error = found.error if isinstance(found, Comparison) else None
        if error is not None:
            raise error
        status: int = found.verdict.status
        return status


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 on")
    return number


def _seconds(text: str) -> float:
    number = _tolerance(text)
    if number == 0:
        raise argparse.ArgumentTypeError("a peer needs more than 0 seconds")
    return number


def _check(options: argparse.Namespace) -> None:
    if options.against is None:
        if options.b is None:
            raise UsageError("diff needs two things to compare: loopdbg diff A B, or loopdbg diff MODEL --against PEER")
        for option in ("lockstep", "free", "timeout", "peer_option"):
            if getattr(options, option):
                raise UsageError(f"--{option.replace('_', '-')} is about a live peer: it needs --against")
    elif options.b is not None:
        raise UsageError(f"--against compares one model with a peer or program: leave out '{options.b}'")
    elif options.map and not options.against.is_torch:
        raise UsageError("--map is for two models: a live peer has the names of the model")


def _options(options: argparse.Namespace, progress: Progress | None = None) -> Options:
    from ...debugger.diff.streams import Options
    from ...debugger.diff.values import Tolerance

    def tick(run: Run, again: bool) -> None:
        if progress is not None:
            progress.tick(run, "looking for the cause: " if again else "comparing: ")

    return Options(Tolerance(options.rtol, options.atol), _named(options.map, "--map", "A=B"), options.loop, tick)


def _progress() -> Progress:
    return Progress(sys.stderr) if sys.stderr.isatty() else Late(sys.stderr, "", lambda path: "")


def _named(words: list[str], option: str, form: str) -> dict[str, str]:
    """What an option says by pairs."""
    names = {}
    for word in words:
        left, separator, right = word.partition("=")
        if not (left and separator and right):
            raise UsageError(f"{option} {word}: expected {form}")
        names[left] = right
    return names


def _against(options: argparse.Namespace) -> Any:
    if options.against.is_torch:
        from .diff_torch import compare

        return compare(options, _options(options))
    from ...debugger.diff.live import compare_live
    from ...debugger.peers.process import Peer

    if is_database(options.a):
        raise UsageError(f"{options.a}: is a trace, and a peer can run a model only")
    settings = _named(options.peer_option, "--peer-option", "K=V")
    with Peer(options.against.name, options.timeout or 60.0, options=settings) as peer:
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
    from ...debugger.reference.files import is_reference

    if not (is_reference(options.a) or is_reference(options.b)):
        return None
    from .diff_reference import compare

    with _progress() as progress:
        return compare(options, _options(options, progress))


def _two(options: argparse.Namespace) -> Any:
    from ...debugger.diff.given import renamed
    from ...debugger.diff.matching import unknown_name
    from ...debugger.diff.sides import ModelSide, open_side
    from ...debugger.diff.streams import compare_sides

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
                raise InputError(f"{where}: {told(error)}; --map NAME=NAME pairs names") from None
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
    from ...debugger.diff.requests import as_the_loop

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
