"""The report of a sweep: numbers, histograms of iterations, and the worst cases with commands to open them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ....debugger.sweep.row import Row, Status
from ....debugger.sweep.summary import HistogramBar, LoopSummary, ModelSummary
from ....debugger.value_json import json_number
from ....runtime.text import count_text, duration_text
from ...render.formatting import escape_unprintable, number_text

#: Width of the longest bar.
_BAR_MAX_CELLS = 40


def report_lines(
    summaries: Sequence[ModelSummary], worst: Sequence[Row], commands: CaseCommands, seconds: float, rows: int
) -> Iterator[str]:
    """The lines of the report."""
    cases = sum(sum(summary.statuses.values()) for summary in summaries)
    rate = f", {cases / seconds:.0f} a second" if seconds else ""
    for summary in summaries:
        yield from _model_lines(summary)
    yield f"{count_text(cases, 'case')} in {duration_text(seconds)}{rate}"
    if commands.options.output is not None:
        yield f"{count_text(rows, 'row')} in {commands.options.output}"
    failed = [row for row in worst if row.status is not Status.OK]
    for heading, group in (("to look at first:", failed), ("ran longest:", worst[len(failed) :])):
        if group:
            yield ""
            yield heading
        for row in group:
            yield from _row_lines(row, commands)


def _model_lines(model: ModelSummary) -> Iterator[str]:
    statuses = ", ".join(f"{status.value} {count}" for status, count in model.statuses.items())
    yield (
        f"{escape_unprintable(model.path)} on {count_text(model.count, 'case')} of '{escape_unprintable(model.cases)}':"
        f" {statuses}"
    )
    for loop in model.loops:
        yield from _loop_lines(loop)


def _loop_lines(loop: LoopSummary) -> Iterator[str]:
    if loop.bars and loop.path:
        yield f"  iterations of '{escape_unprintable(loop.path)}'"
        largest = max(bar.count for bar in loop.bars)
        labels = [_bar_label(bar) for bar in loop.bars]
        width = max(map(len, labels))
        for bar, label in zip(loop.bars, labels, strict=True):
            cells = "█" * max(bool(bar.count), round(_BAR_MAX_CELLS * bar.count / largest))
            yield f"    {label:>{width}}  {cells} {bar.count}"
    for name, (spread, missing) in loop.measures.items():
        low, low_5, median, high_95, high = map(number_text, spread)
        rest = f"; {count_text(missing, 'value is', 'values are')} no number" if missing else ""
        yield (
            f"  {escape_unprintable(name)}: {low} to {high}, half at most {median}, 90 % from {low_5} to"
            f" {high_95}{rest}"
        )


def _bar_label(bar: HistogramBar) -> str:
    return str(bar.low) if bar.low == bar.high else f"{bar.low} to {bar.high}"


def _row_lines(row: Row, commands: CaseCommands) -> Iterator[str]:
    first, *rest = case_lines(row, commands)
    yield f"  {row.status.value:<7}  {escape_unprintable(row.id)}: {first}"
    for line in rest:
        yield f"           {line}"


def case_lines(row: Row, commands: CaseCommands) -> list[str]:
    """The result of a case, and the command that opens it."""
    location = ""
    if row.bad_iteration is not None:
        node = f", node '{escape_unprintable(row.bad_node)}'" if row.bad_node else ""
        location = f" (iteration {row.bad_iteration} of '{escape_unprintable(row.loop)}'{node})"
    if row.status is Status.OK:
        summary = count_text(row.iterations or 0, "iteration") if row.loop else "ran to its end; the model has no loop"
        return [summary, commands.open_command(row)]
    return [f"{escape_unprintable(row.message or row.status.value)}{location}", commands.open_command(row)]


class CaseCommands:
    """The commands that open cases of a sweep with these options; ``summaries``: its models."""

    def __init__(self, options: argparse.Namespace, summaries: Sequence[ModelSummary]) -> None:
        self.options = options
        #: Models with a single loop, where an iteration identifies the loop.
        self._single = {summary.path for summary in summaries if len(summary.loops) == 1}

    def open_command(self, row: Row) -> str:
        """The command that opens a case in the debugger at its bad iteration."""
        words = ["loopdbg", "run", row.model, *self._input_options(row)]
        for path in self.options.operators:
            words += ["--operators", path]
        return shlex.join([*words, *self._stop_position_options(row)])

    def _input_options(self, row: Row) -> list[str]:
        if row.seed is not None:
            dims = [word for dim in self.options.dim for word in ("--dim", dim)]
            return ["--seed", str(row.seed), *dims]
        if self.options.inputs is not None:
            batched = ["--batched"] if self.options.batched else []
            return ["--inputs", self.options.inputs, *batched, "--case", row.case]
        # Files next to the model are found by default; a test data folder must be named.
        folder = Path(row.model).parent / row.case
        return ["--inputs", str(folder)] if folder.is_dir() else []

    def _stop_position_options(self, row: Row) -> list[str]:
        if row.status in (Status.ASSERT, Status.BREAK):
            asserts = [word for text in self.options.asserts for word in ("--assert", text)]
            breaks = [word for text in self.options.breaks for word in ("--break", text)]
            return [*asserts, *breaks, "-i", "--at", "first"]
        if row.bad_iteration is None:
            return ["-i"]
        loop = "" if row.model in self._single else f"{row.loop}:"
        return ["-i", "--at", f"{loop}{row.bad_iteration}"]


def sweep_json(
    summaries: Sequence[ModelSummary], worst: Sequence[Row], commands: CaseCommands, seconds: float, rows: int
) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "models": [_model_json(summary) for summary in summaries],
        "worst": [
            {
                "id": row.id,
                "status": row.status.value,
                "message": row.message,
                "loop": row.loop,
                "iteration": row.bad_iteration,
                "node": row.bad_node,
                "command": commands.open_command(row),
            }
            for row in worst
        ],
        "seconds": seconds,
        "rows": rows,
        "output": None if commands.options.output is None else str(commands.options.output),
    }


def _model_json(summary: ModelSummary) -> dict[str, Any]:
    return {
        "model": summary.path,
        "cases": summary.cases,
        "count": summary.count,
        "statuses": {status.value: count for status, count in summary.statuses.items()},
        "loops": [
            {
                "path": loop.path,
                "iterations": [[bar.low, bar.high, bar.count] for bar in loop.bars],
                "measures": {
                    name: {"quantiles": [json_number(value) for value in spread], "no_number": missing}
                    for name, (spread, missing) in loop.measures.items()
                },
            }
            for loop in summary.loops
        ],
    }
