"""A trace is a file that anything may have happened to: each command on it gives an answer, or one error."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runner import CliResult, run_cli
from fuzz.trace_mutators import MUTATORS, SampleTrace, sample_traces

EDITS = {
    "the parent of a loop is text": "UPDATE loop SET parent = '{}'",
    "the parent of a loop is infinite": "UPDATE loop SET parent = 9e999",
    "a loop is inside itself": "UPDATE loop SET parent = id",
    "the path of a loop is another": "UPDATE loop SET path = '[1,2]'",
    "the name of a loop is another": "UPDATE loop SET name = 'x'",
    "the loop of an entry is another": "UPDATE entry SET loop = 1",
    "the iterations around an entry are a word": "UPDATE entry SET around = 'O'",
    "the iterations around an entry are too many": "UPDATE entry SET around = '1/2'",
    "the trip count is text": "UPDATE entry SET trip_count = 'x'",
    "an iteration is text": "UPDATE boundary SET iteration = 'string' WHERE id = 2",
    "an iteration is infinite": "UPDATE boundary SET iteration = 9e999 WHERE id = 2",
    "an iteration is negative": "UPDATE boundary SET iteration = -9223372036854775807 WHERE id = 2",
    "a condition is text": "UPDATE boundary SET condition = '[]'",
    "a time is text": "UPDATE boundary SET times = 'int64' WHERE id > 1",
    "a time is bytes": "UPDATE boundary SET times = x'00'",
    "times are not numbers": "UPDATE boundary SET times = '[[],{}]'",
    "a run has no boundaries": "UPDATE boundary SET count = 0",
    "a run has too many boundaries": "UPDATE boundary SET count = 9e999",
    "a step is text": "UPDATE boundary SET step = 'x'",
    "runs overlap": "UPDATE boundary SET step = 0",
    "a name is bytes": "UPDATE port SET name = x'80044b01'",
    "the loop of a port is text": "UPDATE port SET loop = 'bogus'",
    "a shape is bytes": "UPDATE type SET shape = x'80044b01'",
    "a shape is negative": "UPDATE type SET shape = '[-1]'",
    "a dtype is another": "UPDATE type SET dtype = 'int32' WHERE dtype = 'float32'",
    "a number is text": "UPDATE value SET number = 'x'",
    "a number is bytes": "UPDATE value SET number = x'7878'",
    "a mean is text": "UPDATE value SET mean = 'int64'",
    "the count of what is not finite is text": "UPDATE value SET not_finite = 'x'",
    "data is text": "UPDATE value SET data = 'text' WHERE data IS NOT NULL",
    "data refers to itself": "UPDATE value SET same = id",
    "values are of no boundary": "DELETE FROM boundary WHERE id > 1",
    "the seconds of a total are text": "UPDATE total SET seconds = 'x'",
    "the iterations of a total are text": "UPDATE total SET iterations = '[1]'",
    "every is text": "UPDATE meta SET value = 'x' WHERE key = 'every'",
    "the graph is bytes": "UPDATE meta SET value = x'00' WHERE key = 'graph'",
    "the graph reads what is not there": """
        UPDATE meta SET value = replace(value, '"outputs":[', '"outputs":[0,') WHERE key = 'graph'
    """,
    "boundaries without end": """
        ALTER TABLE boundary RENAME TO other;
        CREATE VIEW boundary AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
        SELECT id, 1 AS entry, id AS iteration, 1 AS step, 1 AS count, 1 AS condition, NULL AS ended, '[0]' AS times
        FROM n
    """,
}
CONSOLE = (
    "info loops", "list", "info values", "step", "why", "back", "goto 3", "print v_in", "break if v_in > 3",
    "continue", "reverse-continue", "backtrace",
)  # fmt: skip


def assert_handled(ran: CliResult) -> bool:
    """An answer, or one error that is no fault of ours."""
    message = ran.out + ran.err
    if "internal error" in message or "Traceback" in message:
        return False
    errors = [line for line in ran.err.splitlines() if line.startswith("loopdbg: ")]
    return ran.status in (0, 3, 4, 6, 7, 8, 130) or (ran.status in (1, 2) and len(errors) == 1)


def commands(trace: Path, model: Path, whole: bool) -> Iterator[tuple[object, ...]]:
    folder = trace.parent
    if not whole:
        yield "run", model, "--resume", trace
        yield "run", model, "--resume", trace, "--record", trace
        return
    yield "info", trace
    yield "explain", trace
    yield "run", trace, *(word for line in CONSOLE for word in ("-ex", line)), "--batch"
    yield "run", trace, "-ex", "continue", "--batch", "--json"
    yield "export", trace, folder / "out.npz"
    yield "export", trace, folder / "out.csv"
    yield "diff", trace, model


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut off"])
def test_a_cell_that_is_not_what_it_should_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: str, whole: bool
) -> None:
    good: SampleTrace = sample_traces()[0 if whole else 1]
    trace = tmp_path / "run.loopdb"
    for arguments in commands(trace, good.model, whole):
        shutil.copy(good.trace, trace)
        db = sqlite3.connect(trace)
        db.executescript(edit)
        db.close()
        ran = run_cli(capsys, *arguments)
        assert assert_handled(ran), (arguments, ran)


@pytest.mark.parametrize("kind", MUTATORS)
def test_random_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A little of what tests/fuzz does."""
    monkeypatch.chdir(tmp_path)
    for number in range(25):
        for path in tmp_path.iterdir():
            path.unlink()
        arguments = MUTATORS[kind](random.Random(f"0 {kind} {number}"), tmp_path)
        ran = run_cli(capsys, *arguments)
        assert assert_handled(ran), (number, arguments, ran)
