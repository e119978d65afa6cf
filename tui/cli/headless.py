"""What ``loopdbg run`` does: a model to its end, or a session in place of that."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ...runtime.errors import ExecutionError, InterruptError, LimitError, TraceError, UsageError
from ...runtime.frontends import is_database, split
from ...runtime.graph import StoppedBy
from ...runtime.model import Model, OnIteration
from ...runtime.model import Run as Result
from . import report, scripted, terminal
from .checks import Checks
from .expected import compare_with, expected
from .inputs import Inputs, beside, gather, to_run
from .progress import Late, Progress
from .recorded import opened
from .recording import Recording, Resumed, check_options
from .save import check_target, save
from .time_limit import OutOfTime, TimeLimit

_STATUS = {
    StoppedBy.LIMIT: LimitError.exit_status,
    StoppedBy.INTERRUPT: InterruptError.exit_status,
}


def run(options: argparse.Namespace) -> int:
    """Do what the options ask for; returns the exit status."""
    if options.timeout is not None and scripted.wanted(options) and scripted.asks(options) and sys.stdin.isatty():
        raise UsageError("--timeout is for runs that nobody attends: leave it out, or -i")
    terminal.use_colours()
    with Checks(options) as checks, TimeLimit(options.timeout, checks.give_up) as limit:
        return _asked(options, _Watch(checks, limit))


@dataclass(frozen=True)
class _Watch:
    """What looks after a run."""

    checks: Checks
    limit: TimeLimit


def _asked(options: argparse.Namespace, watch: _Watch) -> int:
    if options.output is not None:
        check_target(options.output, "values", _read(options))
    if is_database(options.model):
        return _replay(options, watch)
    check_options(options)
    model = to_run(options.model, options.weights, options)
    watch.checks.graph = model.graph
    if options.resume is None:
        return _run(model, None, options, watch)
    with closing(Resumed(options.resume, model)) as resumed:
        return _run(model, resumed, options, watch)


def _run(model: Model, resumed: Resumed | None, options: argparse.Namespace, watch: _Watch) -> int:
    inputs = gather(model, options) if resumed is None else Inputs(resumed.inputs, resumed.note, chosen_here=True)
    inputs = replace(inputs, expected=expected(model, inputs, options.expect))
    if scripted.wanted(options):
        return _debug(model, inputs, options, watch)
    with Recording(options, model, inputs.values, resumed) as recording:
        result, seconds = _execute(model, inputs, options.max_iterations, recording.hook, resumed)
        recording.finish(result)
    return _tell(model, inputs, options, result, seconds, watch, recording)


def _debug(model: Model, inputs: Inputs, options: argparse.Namespace, watch: _Watch) -> int:
    """A session instead of a run; at its end the outputs are told as those of a run."""
    if options.record is not None or options.resume is not None:
        raise UsageError("--record and --resume are for runs without commands and breakpoints")
    if inputs.chosen_here:
        terminal.err(f"inputs: {inputs.note}")
    from ...debugger.session.session import Session

    attended = scripted.asks(options) and sys.stdin.isatty()
    session = Session(model, inputs.values, max_iterations=options.max_iterations, attended=attended)
    status, result, stopped, seconds = scripted.run(session, options, watch.checks, watch.limit)
    if result is not None:
        return status or _tell(model, inputs, options, result, seconds, watch, stepped=True)
    if options.json:
        terminal.out_json({"stopped": stopped})
    return status


def _replay(options: argparse.Namespace, watch: _Watch) -> int:
    """A recording in place of a session; at its end the recorded outputs are told."""
    with opened(options) as replay:
        if not scripted.wanted(options):
            raise UsageError(
                f"{options.model} is a recording, which cannot be run: -ex COMMAND, --break and --assert ask it, "
                f"loopdbg {options.model} opens it, loopdbg export {options.model} OUT.csv writes it out"
            )
        watch.checks.graph = replay.model.graph
        status, result, stopped, _ = scripted.run(replay, options, watch.checks, watch.limit)
        if result is not None:
            # The time that the run took, not what looking at it did.
            seconds = sum(loop.seconds for loop in result.loops)
            return status or _tell(replay.model, Inputs(replay.inputs, ""), options, result, seconds, watch)
        if options.json:
            terminal.out_json({"stopped": stopped})
        return status


def _tell(
    model: Model,
    inputs: Inputs,
    options: argparse.Namespace,
    result: Result,
    seconds: float,
    watch: _Watch,
    recording: Recording | None = None,
    *,
    stepped: bool = False,
) -> int:
    """Print and save what a run gave; returns the exit status. ``stepped``: a session ran it, whose stops are in
    the seconds."""
    remarks = list(inputs.remarks)
    saved_as = ""
    if options.output is not None and result.stopped_by is None:
        remarks += save(options.output, result.outputs, model.outputs)
        saved_as = options.output
    for remark in remarks:
        terminal.err(f"note: {remark}")
    if options.json:
        told = report.as_json(result, seconds)
        if recording is not None and recording.summary:
            told["recorded"] = recording.summary
        terminal.out_json(told)
    else:
        for note in report.notes(result):
            terminal.err(f"note: {note}")
        not_computed = model.graph.not_computed if result.stopped_by is None else ()
        for line in report.loop_lines(model.name, result, None if stepped else seconds):
            terminal.out(line)
        for line in report.output_lines(result.outputs, saved_as, not_computed):
            terminal.out(line)
        if recording is not None and recording.summary:
            terminal.out(recording.line)
    if result.stopped_by is not None:
        text = watch.limit.reworded(result.message)
        terminal.err(f"loopdbg: {text}")
        watch.checks.broken(text, result.stopped_by.value)
        return OutOfTime.exit_status if watch.limit.expired else _STATUS[result.stopped_by]
    watch.checks.ran(result, seconds)
    failed = recording is not None and recording.failed
    different = compare_with(watch.checks, *inputs.expected, result.outputs)
    return TraceError.exit_status if failed else different


def _read(options: argparse.Namespace) -> list[Path]:
    """Files that a run reads or records; a model's other files are none that outputs could replace."""
    model, _ = split(options.model)
    of_the_model = [model, model.with_suffix(".bin"), beside(model)] if model.name else []
    named = [options.weights, options.inputs, options.requests, options.expect, options.record, options.resume]
    return [*of_the_model, *(Path(path) for path in named if path is not None)]


def _execute(
    model: Model,
    inputs: Inputs,
    max_iterations: int | None,
    hook: OnIteration | None,
    resumed: Resumed | None,
) -> tuple[Result, float]:
    """Run it; seconds are those of the run alone, without reading and compiling."""
    watched = sys.stderr.isatty()
    said = f"inputs: {inputs.note}" if inputs.chosen_here else ""
    if said and watched:
        terminal.err(said)
    _ = model.plan  # compiles
    unasked = f"inputs: {inputs.note}" if inputs.unasked else ""
    progress = Progress(sys.stderr) if watched else Late(sys.stderr, unasked, lambda path: _bounds(model, path))
    start = time.perf_counter()
    try:
        with progress:
            result = model.execute(
                inputs.values,
                on_iteration=hook,
                max_iterations=max_iterations,
                on_tick=progress.tick,
                begin=resumed.begin if resumed else None,
            )
    except ExecutionError as error:
        # What was run is part of what went wrong, unless the user chose it.
        what = f"{error.what} (inputs: {inputs.note})" if said and not watched else error.what
        raise ExecutionError(what, error.remedy, **error.fields) from None
    seconds = time.perf_counter() - start
    if said and not watched:
        # Not before: an error is one line.
        terminal.err(said)
    return result, seconds


def _bounds(model: Model, path: str) -> str:
    """What can end a loop, in a sentence."""
    from ...debugger.words.ends import ends
    from ...debugger.words.node_text import Phrases
    from ...runtime.graph.origins import Origins

    loop = next(plan.loop for plan in model.plan.loops if plan.path == path)
    first = next(ends(loop, Phrases(Origins.of(model.graph))), "")
    return f"it ends {first[:1].lower()}{first[1:].rstrip('.')}" if first else ""
