"""``loopdbg export``: a trace as arrays, as a table or as lines."""

from __future__ import annotations

import argparse
from pathlib import Path

from ....runtime.errors import UsageError, missing_folder_error
from ....runtime.text import group_digits, plural
from .. import terminal
from ..command import Command, int_at_least
from ..options import add_run_options, add_two_weights_option


class ExportCommand(Command):
    """Exports a trace in formats of other programs."""

    name = "export"
    summary = """\
Write what a trace holds: .npz or .safetensors (arrays, iterations first), .csv
(a row a boundary; of tensors the statistics), .parquet (the same with all
numbers), .jsonl (a line a boundary and a value), or DIR/ (the run's inputs and
outputs as ONNX test data). Or an iteration, also of a model that is run for it,
as node data for Google's Model Explorer."""
    examples = """\
examples:
  loopdbg export run.loopdb run.npz
  loopdbg export run.loopdb -o run.jsonl
  loopdbg export run.loopdb h.csv --loop rnn --only h,c
  loopdbg export model.onnx --what model-explorer --iteration 3 -o values.json

docs/traces.md says how the arrays and the columns are called."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg export TRACE|MODEL OUT [options]"
        parser.add_argument("trace", type=Path, metavar="TRACE", help="what --record wrote; or a model")
        parser.add_argument(
            "output", nargs="?", metavar="OUT", help="what to write: .npz, .safetensors, .csv, .parquet, .jsonl or DIR/"
        )
        parser.add_argument("-o", dest="named", metavar="OUT", help="the same")
        parser.add_argument("--loop", metavar="NAME", help="only this loop, by name or path")
        parser.add_argument(
            "--what",
            choices=("trace", "model-explorer"),
            default="trace",
            help="all that a trace holds (where not given), or the values and changes of an iteration as node data",
        )
        parser.add_argument(
            "--iteration", type=int_at_least(0), metavar="K", help="of node data: this iteration (the last one)"
        )
        parser.add_argument("--only", metavar="NAMES", help="only these values, separated by commas")
        add_two_weights_option(parser)
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ....debugger.trace import exporter, trace_store  # noqa: F401
        from .. import output_files  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        # Imported lazily: --help needs neither NumPy nor SQLite.
        from ....debugger.trace.export_formats import write_trace
        from ....debugger.trace.exporter import TraceExporter
        from ....debugger.trace.trace_store import TraceStore
        from ..output_files import check_output_target

        if (options.output is None) == (options.named is None):
            raise UsageError("export needs one file to write: loopdbg export TRACE OUT")
        target: str = options.output or options.named
        if options.what == "model-explorer":
            return self._export_node_data(options, Path(target))
        if options.iteration is not None:
            raise UsageError("--iteration is for --what model-explorer: a trace is exported with all iterations")
        form = check_output_target(target, "traces", [options.trace], "")
        with TraceStore.open(options.trace) as trace, trace.read_transaction():
            names = None if options.only is None else [name for name in options.only.split(",") if name]
            count, remarks = write_trace(TraceExporter(trace, options.loop, names), form, Path(target))
        for remark in remarks:
            terminal.err(f"note: {target}: {remark}")
        terminal.out(f"exported {group_digits(count)} {plural(count, 'boundary', 'boundaries')} to {target}")
        return 0

    def _export_node_data(self, options: argparse.Namespace, target: Path) -> int:
        from ..model_explorer_export import export_node_data

        if target.suffix != ".json":
            raise UsageError(f"{target}: name it .json, which is what Model Explorer takes")
        if not target.absolute().parent.is_dir():
            raise missing_folder_error(target, target.parent)
        return export_node_data(options, target)
