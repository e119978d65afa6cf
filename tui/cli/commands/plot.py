"""``loopdbg plot``: draws a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import Command, int_at_least
from ..options import add_run_options, add_two_weights_option

_PLOT_KINDS = ("carried", "condition", "scan", "norms", "graph")


class PlotCommand(Command):
    """Runs a model, or replays a trace, and draws one of its loops."""

    name = "plot"
    summary = """\
Draw what a loop did: a value over iterations, the two sides of its condition,
a scan output, the norms of what it carries, or how far two runs are apart; or
the loop itself, as a graph with its back edges."""
    examples = """\
examples:
  loopdbg plot newton_sqrt.onnx --input a=2 --what condition -o condition.png
  loopdbg plot lstm.xml --what carried --name h -o h.svg
  loopdbg plot run.loopdb --what scan -o rows.pdf
  loopdbg plot lstm.xml --what graph --iteration 3 -o graph.svg
  loopdbg plot model.onnx --against converted.xml -o apart.png
  loopdbg plot out.parquet -o cases.png

exit status: 0 done, 1 bad model or input, 2 wrong usage, 4 a limit hit,
130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg plot MODEL|TRACE -o FILE [options]"
        parser.add_argument("model", metavar="MODEL", help="a model, a trace, or the rows of a sweep")
        add_two_weights_option(parser)
        group = parser.add_argument_group("picture")
        group.add_argument(
            "--what",
            choices=_PLOT_KINDS,
            default="carried",
            help="what is drawn: carried values over iterations (where not given), the two sides of the condition, "
            "a scan output, the norms of carried tensors, or the graph of the loop with its back edges",
        )
        group.add_argument(
            "--name", metavar="NAME", help="only this value or scan output; of a large graph what is near it"
        )
        group.add_argument(
            "--iteration", type=int_at_least(0), metavar="K", help="the graph before iteration K (at the loop's end)"
        )
        group.add_argument(
            "--loop",
            metavar="LOOP",
            help="of this loop, by name or path (the first one that has something to draw); 'main': the graph of the "
            "whole model",
        )
        group.add_argument(
            "--entry", type=int_at_least(0), default=0, metavar="N", help="of this entry of a nested loop (0)"
        )
        group.add_argument("--against", metavar="B", help="next to another model or trace, and how far apart they are")
        group.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".png, .svg or .pdf")
        add_run_options(parser)

    def import_implementation(self) -> None:
        from .. import figures  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        from ..figures import draw_plot

        return draw_plot(options)
