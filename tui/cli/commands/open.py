"""``loopdbg MODEL``: the debugger."""

from __future__ import annotations

import argparse

from .... import __version__
from ..command import Command
from ..options import add_run_options, add_weights_option


class OpenCommand(Command):
    """Opens the Textual app; the only command that imports it."""

    name = ""
    summary = """\
A debugger for the loops inside neural-network models: ONNX (.onnx, and the
text forms), OpenVINO IR (.xml with its .bin), and TensorRT networks: scripts
that build one with TensorRT's Python API (model.py, model.py:function).
Opening a script runs it.

commands:
  loopdbg MODEL          open it, stopped before iteration 0 of its first loop
  loopdbg TRACE          open what 'loopdbg run MODEL --record TRACE' recorded
  loopdbg run MODEL      run it headless, at full speed, or with commands
  loopdbg info MODEL     show its signature and its loops
  loopdbg explain MODEL  show its loops as pseudo-code, and what ends them
  loopdbg check MODEL... what onnxruntime, OpenVINO and TensorRT will make of it
  loopdbg sweep MODEL... run models on many inputs, and tell what became of each
  loopdbg test MODEL...  run the cases stored next to models
  loopdbg fuzz MODEL     search for inputs that never end, or fail
  loopdbg diff A B       compare models, traces, or a model and another runtime
  loopdbg repro MODEL    the smallest part that still shows what is wrong
  loopdbg extract MODEL  a loop, or one iteration of it, as a model of its own
  loopdbg convert MODEL  write a model as a script that builds it in TensorRT
  loopdbg export TRACE   write what was recorded as .npz or .csv
  loopdbg profile MODEL  where a run spends its time and memory
  loopdbg precision MODEL  what float16 does to it, what has to stay float32
  loopdbg optimize MODEL  proven rewrites that make it faster, with their gain
  loopdbg invariants MODEL  what holds in good runs, as assertions for the next export
  loopdbg plot MODEL     draw a loop: values over iterations, condition, scan
  loopdbg demo           find the bug of a sample model
  loopdbg samples [DIR]  write the sample models into a folder
  loopdbg learn          lessons on the loops inside model files
  loopdbg serve MODEL    open it in a browser
  loopdbg dap, mcp       debug from an editor, or let an agent do it
  loopdbg config         what is set in config.toml, and what can be
  loopdbg completion SH  what makes bash, zsh or fish complete all of this"""
    examples = """\
'loopdbg run --help' and so on tell about those commands.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg [COMMAND] MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file, or a trace; - reads it from stdin")
        add_weights_option(parser)
        add_run_options(parser)
        # Passed by ``serve`` to the debugger of a page.
        parser.add_argument("--allow-write", help=argparse.SUPPRESS)
        parser.add_argument(
            "--version", action="version", version=f"loopdbg {__version__}", help="show the version and exit"
        )

    def import_implementation(self) -> None:
        from .. import model_opener  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..model_opener import open_debugger

        return open_debugger(options)
