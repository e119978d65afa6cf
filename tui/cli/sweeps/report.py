"""What is told of a sweep: numbers, a histogram of iterations, the cases to look at first and how to open each."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ....debugger.sweep.row import Row, Status
from ....debugger.sweep.summary import HistogramBar, LoopSummary, ModelSummary
from ....runtime.text import count_text, duration_text
from ...render.formatting import escape_unprintable, number_text
from ..value_json import json_number

#: Cells of the longest bar.
_BAR_MAX_CELLS = 40


def report_lines(
    found: Sequence[ModelSummary], worst: Sequence[Row], commands: CaseCommands, seconds: float, rows: int
) -> Iterator[str]:
    """The report."""
    cases = sum(sum(one.statuses.values()) for one in found)
    rate = f", {cases / seconds:.0f} a second" if seconds else ""
    for one in found:
        yield from _model_lines(one)
    yield f"{count_text(cases, 'case')} in {duration_text(seconds)}{rate}"
    if commands.options.output is not None:
        yield f"{count_text(rows, 'row')} in {commands.options.output}"
    failed = [row for row in worst if row.status is not Status.OK]
    for heading, rows_ in (("to look at first:", failed), ("ran longest:", worst[len(failed) :])):
        if rows_:
            yield ""
            yield heading
        for row in rows_:
            yield from _row_lines(row, commands)


def _model_lines(one: ModelSummary) -> Iterator[str]:
    told = ", ".join(f"{status.value} {count}" for status, count in one.statuses.items())
    yield (
        f"{escape_unprintable(one.path)} on {count_text(one.count, 'case')} of '{escape_unprintable(one.cases)}':"
        f" {told}"
    )
    for loop in one.loops:
        yield from _loop_lines(loop)


def _loop_lines(loop: LoopSummary) -> Iterator[str]:
    if loop.bars and loop.path:
        yield f"  iterations of '{escape_unprintable(loop.path)}'"
        most = max(bar.count for bar in loop.bars)
        labels = [_bar_label(bar) for bar in loop.bars]
        width = max(map(len, labels))
        for bar, label in zip(loop.bars, labels, strict=True):
            cells = "█" * max(bool(bar.count), round(_BAR_MAX_CELLS * bar.count / most))
            yield f"    {label:>{width}}  {cells} {bar.count}"
    for name, (spread, none) in loop.measures.items():
        low, five, middle, ninety_five, high = map(number_text, spread)
        rest = f"; {count_text(none, 'value is', 'values are')} no number" if none else ""
        yield (
            f"  {escape_unprintable(name)}: {low} to {high}, half at most {middle}, 90 % from {five} to"
            f" {ninety_five}{rest}"
        )


def _bar_label(bar: HistogramBar) -> str:
    return str(bar.low) if bar.low == bar.high else f"{bar.low} to {bar.high}"


def _row_lines(row: Row, commands: CaseCommands) -> Iterator[str]:
    what, *more = case_lines(row, commands)
    yield f"  {row.status.value:<7}  {escape_unprintable(row.id)}: {what}"
    for line in more:
        yield f"           {line}"


def case_lines(row: Row, commands: CaseCommands) -> list[str]:
    """What became of a case, and the command that opens it."""
    where = ""
    if row.bad_iteration is not None:
        node = f", node '{escape_unprintable(row.bad_node)}'" if row.bad_node else ""
        where = f" (iteration {row.bad_iteration} of '{escape_unprintable(row.loop)}'{node})"
    if row.status is Status.OK:
        ran = count_text(row.iterations or 0, "iteration") if row.loop else "ran to its end; the model has no loop"
        return [ran, commands.open_command(row)]
    return [f"{escape_unprintable(row.message or row.status.value)}{where}", commands.open_command(row)]


class CaseCommands:
    """The commands that open cases of a sweep with these options; ``found``: its models."""

    def __init__(self, options: argparse.Namespace, found: Sequence[ModelSummary]) -> None:
        self.options = options
        #: Where an iteration alone says which loop is meant.
        self._single = {one.path for one in found if len(one.loops) == 1}

    def open_command(self, row: Row) -> str:
        """The command that opens a case in the debugger, where it went wrong."""
        words = ["loopdbg", "run", row.model, *self._input_options(row)]
        for path in self.options.operators:
            words += ["--operators", path]
        return shlex.join([*words, *self._place_options(row)])

    def _input_options(self, row: Row) -> list[str]:
        if row.seed is not None:
            dims = [word for dim in self.options.dim for word in ("--dim", dim)]
            return ["--seed", str(row.seed), *dims]
        if self.options.inputs is not None:
            batched = ["--batched"] if self.options.batched else []
            return ["--inputs", self.options.inputs, *batched, "--case", row.case]
        # What stands beside a model is found again; of several sets of test data the one is named.
        folder = Path(row.model).parent / row.case
        return ["--inputs", str(folder)] if folder.is_dir() else []

    def _place_options(self, row: Row) -> list[str]:
        if row.status in (Status.ASSERT, Status.BREAK):
            asserts = [word for text in self.options.asserts for word in ("--assert", text)]
            breaks = [word for text in self.options.breaks for word in ("--break", text)]
            return [*asserts, *breaks, "-i", "--at", "first"]
        if row.bad_iteration is None:
            return ["-i"]
        loop = "" if row.model in self._single else f"{row.loop}:"
        return ["-i", "--at", f"{loop}{row.bad_iteration}"]


def sweep_json(
    found: Sequence[ModelSummary], worst: Sequence[Row], commands: CaseCommands, seconds: float, rows: int
) -> dict[str, Any]:
    """The same as one object."""
    return {
        "models": [_model_json(one) for one in found],
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


def _model_json(one: ModelSummary) -> dict[str, Any]:
    return {
        "model": one.path,
        "cases": one.cases,
        "count": one.count,
        "statuses": {status.value: count for status, count in one.statuses.items()},
        "loops": [
            {
                "path": loop.path,
                "iterations": [[bar.low, bar.high, bar.count] for bar in loop.bars],
                "measures": {
                    name: {"quantiles": [json_number(value) for value in spread], "no_number": none}
                    for name, (spread, none) in loop.measures.items()
                },
            }
            for loop in one.loops
        ],
    }
