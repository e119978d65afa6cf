"""``loopdbg repro``: the smallest part of a model that still shows a finding, as a folder for a bug report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.errors import UsageError
from . import terminal
from .against import peer
from .command import Command, at_least
from .options import add_run_options, add_weights_of_two, condition, named, seconds, tolerance, tolerances

if TYPE_CHECKING:
    from ...debugger.cut.find import Finding
    from ...debugger.cut.report import About
    from ...debugger.peers.process import Peer

#: What a repro is called where no folder is named.
_FOLDER = "repro"
#: What the report of a pack says of this program.
_OWN = ("loopdbg run {model}",)


class Repro(Command):
    """Makes a finding small."""

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
            "       loopdbg repro MODEL --break nan|EXPR [options]"
        )
        parser.add_argument("a", metavar="A", help="the model")
        parser.add_argument("b", metavar="B", nargs="?", help="a model that gives something else")
        add_weights_of_two(parser)
        add_run_options(parser)
        how = parser.add_argument_group("the finding")
        how.add_argument("--against", type=peer, metavar="PEER", help="what this runtime does otherwise")
        how.add_argument(
            "--break",
            dest="breaks",
            type=condition,
            metavar="nan|EXPR",
            help="the first NaN, or where EXPR is true",
        )
        how.add_argument("--rtol", type=tolerance, metavar="R", help="relative tolerance of floats (by dtype)")
        how.add_argument("--atol", type=tolerance, metavar="T", help="absolute tolerance of floats (by dtype)")
        how.add_argument(
            "--peer-option", action="append", default=[], metavar="K=V", help="a setting of the peer; repeatable"
        )
        search = parser.add_argument_group("the search")
        search.add_argument("-o", "--output", type=Path, metavar="DIR", help=f"the folder to write ({_FOLDER})")
        search.add_argument("--force", action="store_true", help="write into a folder that has files")
        search.add_argument("--timeout", type=seconds, metavar="S", help="search for so many seconds (300)")
        search.add_argument("--max-tests", type=at_least(1), metavar="N", help="try so many candidates (1000)")
        search.add_argument(
            "--peer-timeout", type=seconds, metavar="S", help="give the peer up after S seconds without an answer (10)"
        )

    def run(self, options: argparse.Namespace) -> int:
        # Here, since --help needs none of it.
        from ...debugger.cut.folder import check_folder
        from ...debugger.peers.process import Peer

        _check(options)
        folder: Path = options.output or Path(_FOLDER)
        check_folder(folder, options.force)
        if options.against is None:
            return self._made(options, folder, None)
        settings = named(options.peer_option, "--peer-option", "K=V")
        with Peer(options.against, options.peer_timeout or 10.0, options=settings) as peer:
            return self._made(options, folder, peer)

    def _made(self, options: argparse.Namespace, folder: Path, peer: Peer | None) -> int:
        from ...debugger.cut import repro
        from .progress import Line

        finding, about = _finding(options, peer)
        with Line(sys.stderr) as line:
            made = repro.make(
                finding,
                about,
                folder,
                most=options.max_tests or 1000,
                seconds=options.timeout or 300.0,
                say=line.say,
            )
        for text in made.lines():
            terminal.out(text)
        return 0 if made.confirmed else 8


def _check(options: argparse.Namespace) -> None:
    ways = [options.b is not None, options.against is not None, options.breaks is not None]
    if sum(ways) != 1:
        raise UsageError(
            "repro needs one finding: loopdbg repro MODEL --against PEER, loopdbg repro A B, or "
            "loopdbg repro MODEL --break nan"
        )
    if options.against is None and (options.peer_option or options.peer_timeout):
        raise UsageError("--peer-option and --peer-timeout are about a live peer: they need --against")
    if options.breaks is not None and (options.rtol is not None or options.atol is not None):
        raise UsageError("--rtol and --atol are for values that are compared, and --break compares none")
    if options.requests is not None and options.against is None:
        raise UsageError("--requests: requests are compared with a runtime: --against openvino")


def _finding(options: argparse.Namespace, peer: Peer | None) -> tuple[Finding, About]:
    from ...debugger.cut import find
    from ...debugger.cut.report import About
    from ...debugger.diff.values import Tolerance
    from .inputs import gather, to_run
    from .recorded import weights_of_two

    paths = [path for path in (options.a, options.b) if path is not None]
    models = [
        to_run(path, weights, options)
        for path, weights in zip(paths, weights_of_two(paths, options.weights), strict=True)
    ]
    inputs = gather(models[0], options)
    _remark(inputs)
    names = [model.name for model in models]
    within, most = Tolerance(*tolerances(options)), options.max_iterations
    if peer is not None:
        finding = find.against(models[0], inputs.values, peer, within, most)
        return finding, About(names, peer.name, peer.version, peer.configuration, commands=_OWN)
    if options.breaks is not None:
        return find.stopping(models[0], inputs.values, options.breaks, most), About(
            names, expression=options.breaks, commands=_OWN
        )
    return find.between(models[0], models[1], inputs.values, within, most), About(names, commands=_OWN)


def _remark(inputs: Any) -> None:
    for remark in inputs.remarks:
        terminal.err(f"note: {remark}")
    if inputs.chosen_here and inputs.note:
        terminal.err(f"inputs: {inputs.note}")
