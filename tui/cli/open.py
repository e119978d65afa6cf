"""``loopdbg MODEL``: the debugger."""

from __future__ import annotations

import argparse
import os
import sys

from ... import __version__
from ...runtime.errors import ModelError, UsageError
from ...runtime.frontends import is_database, split
from ...runtime.model import Model
from .. import settings
from . import terminal
from .command import Command
from .inputs import Inputs, add_run_options, gather, to_run
from .recorded import add_weights_option, opened
from .remedies import told


class Open(Command):
    """Opens the Textual app; it alone imports it."""

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
  loopdbg diff A B       compare models, traces, or a model and another runtime
  loopdbg convert MODEL  write a model as a script that builds it in TensorRT
  loopdbg export TRACE   write what was recorded as .npz or .csv
  loopdbg plot MODEL     draw a loop: values over iterations, condition, scan
  loopdbg learn          lessons on the loops inside model files
  loopdbg serve MODEL    open it in a browser"""
    examples = """\
'loopdbg run --help' and so on tell about those commands.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg [run|info|explain|diff|convert|export|plot|learn|serve] MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file, or a trace")
        add_weights_option(parser)
        add_run_options(parser)
        parser.add_argument(
            "--version", action="version", version=f"loopdbg {__version__}", help="show the version and exit"
        )

    def run(self, options: argparse.Namespace) -> int:
        file, _ = split(options.model)
        if not file.exists():
            raise ModelError(f"{file}: no such file; give the path of a model file")
        if not has_terminal():
            raise UsageError(f"the debugger needs a terminal; without one use: {_headless(options.model)}")
        terminal.prepare_screen()
        if is_database(options.model):
            return _replay(options)
        model = to_run(options.model, options.weights, options)
        inputs: Inputs | None = gather(model, options)
        settings.opened(options.model)
        # Here, since neither --help nor a mistake should wait for it.
        from .screen import run_app

        if inputs is not None and inputs.unasked and not is_served():
            inputs = _asked(model, inputs)
        if inputs is None:
            return 0
        return run_app(model, inputs, options.max_iterations, told)


def _asked(model: Model, random: Inputs) -> Inputs | None:
    """The inputs as a person wants them; None where the model is not to be opened."""
    from ..actions import chosen
    from ..screens.inputs import InputsApp
    from .draft import Draft

    draft = Draft(model, random)
    return draft.finished() if InputsApp(draft, model.name, actions=chosen()).run() else None


def _headless(path: str) -> str:
    return f"loopdbg run {path} -ex COMMAND" if is_database(path) else f"loopdbg run {path}"


def _replay(options: argparse.Namespace) -> int:
    """Open a recording. It has its inputs, and nothing runs."""
    with opened(options) as replay:
        from .screen import replay_app

        return replay_app(replay, told)


def has_terminal() -> bool:
    """Whether a person can read a screen and press keys."""
    return is_served() or (_is_terminal(sys.stdin) and _is_terminal(sys.stdout))


def is_served() -> bool:
    """Whether the screen is in a browser, which shows one app only."""
    return "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")


def _is_terminal(stream: object) -> bool:
    return bool(stream is not None and getattr(stream, "isatty", lambda: False)())
