"""What ``loopdbg sweep`` does: the cases of all models, and what became of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ...debugger.formats import junit
from ...debugger.sweep.cases import CaseSet, RandomCases
from ...debugger.sweep.export import check_form, export
from ...debugger.sweep.files import open_set
from ...debugger.sweep.job import MEMORY, TIMEOUT, Wanted
from ...debugger.sweep.row import Row, Status
from ...debugger.sweep.store import Store
from ...debugger.sweep.summary import ModelSummary, summaries, worst
from ...debugger.sweep.sweep import Sweep, opened_store, prepare
from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import InterruptError, LimitError, LoopdbgError, UsageError
from . import terminal
from .recorded import weights_of_two
from .scripted import ASSERTION_FAILED, STOPPED
from .sweep_progress import watched
from .sweep_report import Commands, as_json, lines, said_of

#: From the one that counts most: what a status makes of the exit status.
_STATUSES = (
    (Status.ASSERT, ASSERTION_FAILED),
    (Status.BREAK, STOPPED),
    (Status.DIFFERS, 6),
    (Status.ERROR, LoopdbgError.exit_status),
    (Status.KILLED, LoopdbgError.exit_status),
    (Status.TIMEOUT, LimitError.exit_status),
    (Status.LIMIT, LimitError.exit_status),
)


def run(options: argparse.Namespace) -> int:
    """Run what the options ask for; returns the exit status."""
    target = _target(options)
    wanted = Wanted(
        tuple(options.asserts),
        tuple(options.breaks),
        tuple(options.measures),
        max_iterations=options.max_iterations,
        timeout=options.timeout or TIMEOUT,
        max_memory=MEMORY if options.max_memory is None else int(options.max_memory * 2**30),
        against=options.against,
        operators=tuple(options.operators),
    )
    jobs, models = prepare(options.models, _cases(options), wanted, weights_of_two(options.models, options.weights))
    processes = options.jobs or os.cpu_count() or 1
    with ExitStack() as stack:
        folder = None if target is not None else stack.enter_context(scratch_folder())
        store = opened_store(target or Path(folder or ".") / "rows.sweepdb", jobs, options.resume)
        stack.callback(store.close)
        started = time.monotonic()
        made = Sweep(jobs, store, models, processes, options.dask)
        if not _run(made, options, store):
            return InterruptError.exit_status
        return _finish(options, store, time.monotonic() - started)


def _run(made: Sweep, options: argparse.Namespace, store: Store) -> bool:
    """Run it to its end; False: Ctrl-C ended it, and what was done is kept."""
    total = sum(len(job.cases) for job in made.jobs)
    done = total - made.left
    if options.resume:
        terminal.err(f"{done} of {total} cases are in {store.path}")
    try:
        with watched(sys.stderr, made.left) as progress:
            for batch in made.run():
                done += batch.cases
                progress.add(batch)
    except KeyboardInterrupt:
        kept = f"{done} of {total} cases are done"
        if options.output is None:
            terminal.err(f"loopdbg: interrupted: {kept}, and nothing is kept: -o FILE keeps rows")
        else:
            terminal.err(
                f"loopdbg: interrupted: {kept} and kept in {store.path}; the same command with --resume goes on"
            )
        return False
    return True


def _finish(options: argparse.Namespace, store: Store, seconds: float) -> int:
    """Write what is to be written, and tell what was found."""
    found = summaries(store)
    commands = Commands(options, found)
    rows = store.count()
    output = options.output
    if output is not None and output.suffix != ".sweepdb":
        export(store, output)
    if options.junit is not None:
        junit.write(options.junit, _reported(store, commands), "loopdbg sweep")
    first = worst(store)
    if options.json:
        terminal.out_json(as_json(found, first, commands, seconds, rows))
    else:
        for line in lines(found, first, commands, seconds, rows):
            terminal.out(line)
    return exit_status(found)


def exit_status(found: list[ModelSummary]) -> int:
    """What the statuses of all cases make of the exit status."""
    there = {status for one in found for status in one.statuses}
    return next((code for status, code in _STATUSES if status in there), 0)


def _reported(store: Store, commands: Commands) -> Iterator[junit.Case]:
    """A test for each case, of its rows together."""
    held: list[Row] = []
    for row in store.rows():
        if held and held[0].id != row.id:
            yield _case(held, commands)
            held = []
        held.append(row)
    if held:
        yield _case(held, commands)


def _case(rows: list[Row], commands: Commands) -> junit.Case:
    row = next((one for one in rows if one.bad_iteration is not None), rows[0])
    bad = row.status is not Status.OK
    lines = said_of(row, commands) if bad else []
    broken = row.status in (Status.ERROR, Status.KILLED, Status.TIMEOUT)
    iterations = {f"iterations of {one.loop}": one.iterations for one in rows if one.loop}
    return junit.Case(
        row.case,
        f"{Path(row.model).name}.{row.set}",
        row.seconds,
        failure=[] if broken else lines,
        error=lines if broken else [],
        kind=row.status.value,
        properties={"id": row.id, **iterations, **{k: v for one in rows for k, v in one.measures.items()}},
    )


def _target(options: argparse.Namespace) -> Path | None:
    """What rows are written to, checked before anything runs.

    Raises:
        UsageError: it is there already, or cannot be what is asked for.
    """
    output: Path | None = options.output
    if options.resume and output is None:
        raise UsageError("--resume needs -o FILE, the output of the sweep that goes on")
    if output is None:
        return None
    if output.suffix != ".sweepdb":
        check_form(output)
    rows = output.with_suffix(".sweepdb")
    if rows.exists() and not (options.resume or options.force):
        raise UsageError(f"{rows} is there already: --resume goes on with it, --force begins anew")
    if output.is_file() and not (options.resume or options.force):
        raise UsageError(f"{output} is there already: --force overwrites the rows of an earlier sweep")
    return output


def _cases(options: argparse.Namespace) -> CaseSet | None:
    if options.random is None:
        if options.seed is not None or options.dim:
            raise UsageError("--seed and --dim are about random cases: they need --random N")
        if options.batched and options.inputs is None:
            raise UsageError("--batched is about --inputs FILE.npz")
        return None if options.inputs is None else open_set(options.inputs, options.batched)
    if options.inputs is not None:
        raise UsageError("--random makes cases, and --inputs gives them: use one or the other")
    return RandomCases(options.random, options.seed or 0, options.dim)
