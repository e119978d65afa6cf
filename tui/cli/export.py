"""``loopdbg export``: a trace as arrays or as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...runtime.errors import UsageError
from ...runtime.text import grouped, plural
from . import terminal
from .command import Command


class Export(Command):
    """Writes what a trace holds as ``.npz`` or ``.csv``."""

    name = "export"
    summary = """\
Write what a trace holds as .npz (arrays, iterations first) or .csv (a row a
boundary; of tensors the statistics)."""
    examples = """\
examples:
  loopdbg export run.loopdb run.npz
  loopdbg export run.loopdb h.csv --loop rnn --only h,c

docs/traces.md says how the arrays and the columns are called."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg export TRACE OUT.npz|OUT.csv [options]"
        parser.add_argument("trace", type=Path, metavar="TRACE", help="what --record wrote")
        parser.add_argument("output", type=Path, metavar="OUT", help="the file to write: .npz or .csv")
        parser.add_argument("--loop", metavar="NAME", help="only this loop, by name or path")
        parser.add_argument("--only", metavar="NAMES", help="only these values, separated by commas")

    def load(self) -> None:
        from ...debugger.recording import export, trace_inside  # noqa: F401
        from . import save  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        # Here, since --help needs neither NumPy nor SQLite.
        from ...debugger.recording.export import Exporter
        from ...debugger.recording.trace_inside import TraceInside
        from .save import check_target

        target: Path = options.output
        if target.suffix not in (".npz", ".csv"):
            raise UsageError(f"{target}: name it .npz for arrays or .csv for a table")
        check_target(target, [options.trace], "")
        with TraceInside.open(options.trace) as trace, trace.still():
            only = None if options.only is None else [name for name in options.only.split(",") if name]
            exporter = Exporter(trace, options.loop, only)
            count = exporter.npz(target) if target.suffix == ".npz" else exporter.csv(target)
        terminal.out(f"exported {grouped(count)} {plural(count, 'boundary', 'boundaries')} to {target}")
        return 0
