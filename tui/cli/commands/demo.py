"""``loopdbg demo``: finds the bug of a sample model, as a person would at the prompt."""

from __future__ import annotations

import argparse
import shlex

from .. import terminal
from ..command import Command
from .run import RunCommand
from .samples import SAMPLES_FOLDER

_MODEL = "vanishing_scale.onnx"
_OPTIONS = ("-ex", "break nan", "-ex", "continue", "-ex", "list", "-ex", "print s@(iter-1)", "--batch")


class DemoCommand(Command):
    """Runs a sample to its first NaN."""

    name = "demo"
    summary = """\
Run a sample model up to its first NaN or Inf, and show which line of the loop
gave it, and from what."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg demo"

    def import_implementation(self) -> None:
        RunCommand().import_implementation()

    def run(self, options: argparse.Namespace) -> int:
        run = RunCommand()
        terminal.out(f"$ loopdbg run {_MODEL} {shlex.join(_OPTIONS)}")
        # The command is shown before what the run writes to stderr.
        terminal.flush_stdout()
        status = run.run(run.parser().parse([str(SAMPLES_FOLDER / _MODEL), *_OPTIONS]))
        if status == 0:
            terminal.out("next: loopdbg samples  # writes this model and others into ./sample_models")
        return status
