"""``loopdbg repro``: the smallest part of a model that still shows a finding, as a folder for a bug report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from .. import terminal
from ..command import Command, int_at_least
from ..comparison.peer_spec import parse_check_command, parse_runtime
from ..options import (
    add_run_options,
    add_two_weights_option,
    effective_tolerances,
    parse_condition,
    parse_pairs,
    parse_seconds,
    parse_tolerance,
)

if TYPE_CHECKING:
    from ....debugger.peers.process import Peer
    from ....debugger.reduce.initial_candidate import Finding
    from ....debugger.reduce.repro.repro_report import FindingSource

#: The default output folder.
_DEFAULT_FOLDER = "repro"
#: Commands of this program in the report.
_REPORT_COMMANDS = ("loopdbg run {model}",)


class ReproCommand(Command):
    """Reduces a finding to a minimal test case."""

    name = "repro"
    summary = """\
Make the smallest part of a model that still shows a finding: another value than
a runtime gives, a refusal, a crash, two models that differ, a NaN, a breakpoint.
Nodes, iterations, inputs and numbers are reduced, inside loops too."""
    examples = """\
examples:
  loopdbg repro model.onnx --against onnxruntime -o report
  loopdbg repro before.onnx after.onnx
  loopdbg repro model.onnx --break nan
  loopdbg repro model.onnx --break 'err > 1e3'
  loopdbg repro model.onnx --against 'cmd:node ort_web.mjs {model} {inputs} {outputs}'
  loopdbg repro model.onnx --check 'python still_wrong.py {model} {inputs}'

The folder gets the model, its inputs and outputs (test_data_set_0), a script for
each runtime that needs that runtime alone (run_onnxruntime.py, run_openvino.py,
run_torch.py), and a README.md for a bug report. What was written is run again.
Ctrl-C ends the search; the smallest part so far is written.

exit status: 0 done, 8 there is nothing to show, or what was written does not
show it, 1 bad model or input, 2 wrong usage, 4 a limit hit"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = (
            "loopdbg repro MODEL --against PEER [options]\n"
            "       loopdbg repro A B [options]\n"
            "       loopdbg repro MODEL --break nan|EXPR [options]\n"
            "       loopdbg repro MODEL --check COMMAND [options]"
        )
        parser.add_argument("a", metavar="A", help="the model")
        parser.add_argument("b", metavar="B", nargs="?", help="a model that gives something else")
        add_two_weights_option(parser)
        add_run_options(parser)
        group = parser.add_argument_group("the finding")
        group.add_argument(
            "--against", type=parse_runtime, metavar="PEER", help="what this runtime, or cmd:COMMAND, does otherwise"
        )
        group.add_argument(
            "--break",
            dest="breaks",
            type=parse_condition,
            metavar="nan|EXPR",
            help="the first NaN, or where EXPR is true",
        )
        group.add_argument(
            "--check",
            type=parse_check_command,
            metavar="COMMAND",
            help="that a test of yours succeeds: the exit status of 'PROGRAM {model} {inputs}' is 0",
        )
        group.add_argument("--rtol", type=parse_tolerance, metavar="R", help="relative tolerance of floats (by dtype)")
        group.add_argument("--atol", type=parse_tolerance, metavar="T", help="absolute tolerance of floats (by dtype)")
        group.add_argument(
            "--peer-option", action="append", default=[], metavar="K=V", help="a setting of the peer; repeatable"
        )
        search = parser.add_argument_group("the search")
        search.add_argument("-o", "--output", type=Path, metavar="DIR", help=f"the folder to write ({_DEFAULT_FOLDER})")
        search.add_argument("--force", action="store_true", help="write into a folder that has files")
        search.add_argument("--timeout", type=parse_seconds, metavar="S", help="search for S seconds (300)")
        search.add_argument("--max-tests", type=int_at_least(1), metavar="N", help="try N candidates (1000)")
        search.add_argument(
            "--peer-timeout",
            type=parse_seconds,
            metavar="S",
            help="give the peer or the test up after S seconds without an answer (10)",
        )

    def run(self, options: argparse.Namespace) -> int:
        # Imported lazily: --help needs none of it.
        from ....debugger.extract.output_folder import check_writable_folder
        from ....debugger.peers.process import Peer

        _check_options(options)
        folder: Path = options.output or Path(_DEFAULT_FOLDER)
        check_writable_folder(folder, options.force)
        if options.against is None:
            return self._reduce_finding(options, folder, None)
        settings = parse_pairs(options.peer_option, "--peer-option", "K=V")
        with Peer(options.against, options.peer_timeout or 10.0, options=settings) as peer:
            return self._reduce_finding(options, folder, peer)

    def _reduce_finding(self, options: argparse.Namespace, folder: Path, peer: Peer | None) -> int:
        from ....debugger.reduce.repro import repro
        from ..progress import StatusLine

        finding, source = _build_finding(options, peer)
        with StatusLine(sys.stderr) as line:
            result = repro.make_repro(
                finding,
                source,
                folder,
                most=options.max_tests or 1000,
                seconds=options.timeout or 300.0,
                say=line.say,
            )
        for text in result.lines():
            terminal.out(text)
        return 0 if result.confirmed else 8


def _check_options(options: argparse.Namespace) -> None:
    modes = [value is not None for value in (options.b, options.against, options.breaks, options.check)]
    if sum(modes) != 1:
        raise UsageError(
            "repro needs one finding: loopdbg repro MODEL --against PEER, loopdbg repro A B, "
            "loopdbg repro MODEL --break nan, or loopdbg repro MODEL --check COMMAND"
        )
    if options.against is None and (options.peer_option or (options.peer_timeout and options.check is None)):
        raise UsageError("--peer-option and --peer-timeout are about a live peer: they need --against")
    for option in ("break", "check"):
        used = (options.breaks if option == "break" else options.check) is not None
        if used and (options.rtol is not None or options.atol is not None):
            raise UsageError(f"--rtol and --atol are for values that are compared, and --{option} compares none")
    if options.requests is not None and options.against is None:
        raise UsageError("--requests: requests are compared with a runtime: --against openvino")


def _build_finding(options: argparse.Namespace, peer: Peer | None) -> tuple[Finding, FindingSource]:
    from ....debugger.compare.running.map_inputs import unmapped_right_ports
    from ....debugger.compare.running.value_comparison import Tolerance
    from ....debugger.reduce import initial_candidate
    from ....debugger.reduce.repro.repro_report import FindingSource
    from ..model_inputs.gather import gather_inputs, load_runnable_model
    from ..model_or_trace import pair_weights

    paths = [path for path in (options.a, options.b) if path is not None]
    models = [
        load_runnable_model(path, weights, options)
        for path, weights in zip(paths, pair_weights(paths, options.weights), strict=True)
    ]
    more = unmapped_right_ports(models[0], models[1], {}) if options.b is not None else []
    inputs = gather_inputs(models[0], options, more)
    inputs.print_notes()
    names = [model.name for model in models]
    tolerance, limit = Tolerance(*effective_tolerances(options)), options.max_iterations
    if peer is not None:
        finding = initial_candidate.find_peer_disagreement(models[0], inputs.values, peer, tolerance, limit)
        return finding, FindingSource(names, peer.name, peer.version, peer.configuration, commands=_REPORT_COMMANDS)
    if options.check is not None:
        seconds = options.peer_timeout or 10.0
        finding = initial_candidate.find_command_success(models[0], inputs.values, options.check, seconds, limit)
        return finding, FindingSource(names, command=options.check, commands=_REPORT_COMMANDS)
    if options.breaks is not None:
        return initial_candidate.find_breakpoint_hit(models[0], inputs.values, options.breaks, limit), FindingSource(
            names, expression=options.breaks, commands=_REPORT_COMMANDS
        )
    # The models are given away, since they are released where only their files are needed.
    return initial_candidate.find_model_difference(
        models.pop(0), models.pop(0), inputs.values, tolerance, limit
    ), FindingSource(names, commands=_REPORT_COMMANDS)
