"""Implements ``loopdbg run``: runs a model to its end, or a scripted session."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....runtime.errors import ExecutionError, InterruptError, LimitError, TraceError, UsageError
from ....runtime.frontends import is_sqlite_file, split_model_path
from ....runtime.graph import StoppedBy
from ....runtime.model import Model, OnIteration
from ....runtime.model import Run as Result
from ....runtime.text import escape_unprintable
from .. import terminal
from ..model_inputs.gather import RunInputs, gather_inputs, load_runnable_model, sidecar_path
from ..model_or_trace import open_recording
from ..output_files import check_output_target, save_outputs
from ..progress import ProgressLine, ProgressLog
from . import run_report, scripted_session
from .ci_checks import DIAGNOSED_STATUS, CheckReport
from .coverage_report import RunCoverage
from .expected_outputs import check_outputs, expected_outputs
from .run_recording import ResumedRun, RunRecording, check_record_options
from .time_limit import OutOfTime, TimeLimit

if TYPE_CHECKING:
    from ....debugger.diagnostics.report import Diagnosis

_EXIT_STATUS = {
    StoppedBy.LIMIT: LimitError.exit_status,
    StoppedBy.INTERRUPT: InterruptError.exit_status,
}


def run_headless(options: argparse.Namespace) -> int:
    """Run a model or a session; returns the exit status."""
    if (
        options.timeout is not None
        and scripted_session.needs_session(options)
        and scripted_session.is_interactive(options)
        and sys.stdin.isatty()
    ):
        raise UsageError("--timeout is for unattended runs: leave it out, or -i")
    terminal.enable_colors()
    with CheckReport(options) as checks, TimeLimit(options.timeout, checks.report_abandoned_run) as limit:
        return _run_source(options, _RunGuards(checks, limit))


@dataclass(frozen=True)
class _RunGuards:
    """The checks and the time limit of a run."""

    checks: CheckReport
    time_limit: TimeLimit


def _run_source(options: argparse.Namespace, guard: _RunGuards) -> int:
    if options.output is not None:
        check_output_target(options.output, "values", _protected_paths(options))
    for name, value in (("record", options.record), ("resume", options.resume)):
        if options.as_runtime is not None and value is not None:
            raise UsageError(f"--{name} is about the model in the file, and --as changes it: use one or the other")
    if is_sqlite_file(options.model):
        if options.as_runtime is not None:
            raise UsageError(f"{options.model}: is a recording of a run, to which --as comes too late")
        return _run_recording(options, guard)
    check_record_options(options)
    model = load_runnable_model(options.model, options.weights, options)
    guard.checks.graph = model.graph
    if options.coverage is not None and options.resume is not None:
        raise UsageError("--coverage is of a whole run, and --resume goes on in the middle: use one or the other")
    if options.resume is None:
        return _run_model(model, None, options, guard)
    with closing(ResumedRun(options.resume, model)) as resumed:
        return _run_model(model, resumed, options, guard)


def _run_model(model: Model, resumed: ResumedRun | None, options: argparse.Namespace, guard: _RunGuards) -> int:
    inputs = (
        gather_inputs(model, options)
        if resumed is None
        else RunInputs(resumed.inputs, resumed.note, chosen_by_default=True)
    )
    inputs = replace(inputs, expected=expected_outputs(model, inputs, options.expect))
    coverage = RunCoverage(options.coverage, model)
    if scripted_session.needs_session(options):
        return _run_session(model, inputs, options, guard)
    diagnosis = _diagnose(model, inputs, options, guard)
    with RunRecording(options, model, inputs.values, resumed) as recording:
        result, seconds = _execute_model(
            model, inputs, options.max_iterations, recording.boundary_callback, resumed, coverage
        )
        recording.finish(result)
    guard.checks.coverage = coverage.result
    status = _report_result(model, inputs, options, result, seconds, guard, recording, coverage, diagnosis=diagnosis)
    return status or (DIAGNOSED_STATUS if diagnosis is not None and diagnosis.findings else 0)


def _diagnose(model: Model, inputs: RunInputs, options: argparse.Namespace, guard: _RunGuards) -> Diagnosis | None:
    """Judge a run if that is asked for, and print what is suspicious, before a run that may fail.

    Raises:
        InterruptError: Ctrl-C.
    """
    if not (options.diagnose or options.diagnose_for):
        return None
    diagnosis: Diagnosis = model.diagnose(
        inputs.values, target_type=options.diagnose_for, max_iterations=options.max_iterations
    )
    if not options.json:
        for line in diagnosis.lines():
            terminal.out(escape_unprintable(line))
    for finding in diagnosis.findings:
        name = f"{finding.kind.value} {finding.loop} {finding.node}"
        guard.checks.record_failure(name, str(finding), "diagnose", node=finding.node)
    if not diagnosis.findings:
        guard.checks.record_pass("--diagnose")
    if diagnosis.interrupted:
        raise InterruptError(guard.time_limit.reword_interrupt("interrupted while the run was judged"))
    return diagnosis


def _run_session(model: Model, inputs: RunInputs, options: argparse.Namespace, guard: _RunGuards) -> int:
    """A session instead of a run; at its end the outputs are reported as those of a run."""
    if options.coverage is not None:
        raise UsageError("--coverage is for runs without commands and breakpoints; in a session it is a command")
    if options.record is not None or options.resume is not None:
        raise UsageError("--record and --resume are for runs without commands and breakpoints")
    if options.diagnose or options.diagnose_for:
        raise UsageError("--diagnose is for runs without commands and breakpoints: diagnose is a command as well")
    if inputs.chosen_by_default:
        terminal.err(f"inputs: {inputs.note}")
    from ....debugger.session.session import Session

    attended = scripted_session.is_interactive(options) and sys.stdin.isatty()
    session = Session(model, inputs.values, max_iterations=options.max_iterations, attended=attended)
    status, result, stop, seconds = scripted_session.run_session(session, options, guard.checks, guard.time_limit)
    if result is not None:
        return status or _report_result(model, inputs, options, result, seconds, guard, stepped=True)
    if options.json:
        terminal.out_json({"stopped": stop})
    return status


def _run_recording(options: argparse.Namespace, guard: _RunGuards) -> int:
    """A session of a recording; at its end the recorded outputs are reported."""
    with open_recording(options) as replay:
        if not scripted_session.needs_session(options):
            raise UsageError(
                f"{options.model} is a recording, which cannot be run: -ex COMMAND, --break and --assert ask it, "
                f"loopdbg {options.model} opens it, loopdbg export {options.model} OUT.csv writes it out"
            )
        guard.checks.graph = replay.model.graph
        status, result, stop, _ = scripted_session.run_session(replay, options, guard.checks, guard.time_limit)
        if result is not None:
            # The time of the recorded run, not of the replay.
            seconds = sum(loop.seconds for loop in result.loops)
            return status or _report_result(replay.model, RunInputs(replay.inputs, ""), options, result, seconds, guard)
        if options.json:
            terminal.out_json({"stopped": stop})
        return status


def _report_result(
    model: Model,
    inputs: RunInputs,
    options: argparse.Namespace,
    result: Result,
    seconds: float,
    guard: _RunGuards,
    recording: RunRecording | None = None,
    coverage: RunCoverage | None = None,
    *,
    stepped: bool = False,
    diagnosis: Diagnosis | None = None,
) -> int:
    """Print and save the results of a run; returns the exit status. ``stepped``: a session ran it, so the seconds
    include stops."""
    remarks = list(inputs.remarks)
    saved_as = ""
    if options.output is not None and result.stopped_by is None:
        remarks += save_outputs(options.output, result.outputs, model.outputs)
        saved_as = options.output
    for remark in remarks:
        terminal.err(f"note: {remark}")
    if options.json:
        report = run_report.run_result_json(result, seconds)
        if recording is not None and recording.summary:
            report["recorded"] = recording.summary
        if diagnosis is not None:
            report["diagnosis"] = diagnosis.to_json()
        if coverage is not None and coverage.result is not None:
            report["coverage"] = coverage.result.to_json()
        terminal.out_json(report)
    else:
        for note in run_report.run_notes(result):
            terminal.err(f"note: {note}")
        not_computed = model.graph.missing_outputs if result.stopped_by is None else ()
        for line in run_report.loop_lines(model.name, result, None if stepped else seconds):
            terminal.out(line)
        for line in run_report.output_lines(result.outputs, saved_as, not_computed):
            terminal.out(line)
        if recording is not None and recording.summary:
            terminal.out(recording.summary_line)
        if diagnosis is None and (hint := run_report.diagnosis_hint(result)):
            terminal.err(f"note: {hint}")
        if coverage is not None:
            coverage.print_table()
    if coverage is not None:
        coverage.save()
    if result.stopped_by is not None:
        text = guard.time_limit.reword_interrupt(result.message)
        terminal.err(f"loopdbg: {text}")
        guard.checks.record_error(text, result.stopped_by.value)
        return OutOfTime.exit_status if guard.time_limit.expired else _EXIT_STATUS[result.stopped_by]
    guard.checks.record_run(result, seconds)
    failed = recording is not None and recording.failed
    different = check_outputs(guard.checks, *inputs.expected, result.outputs)
    return TraceError.exit_status if failed else different


def _protected_paths(options: argparse.Namespace) -> list[Path]:
    """Files that a run reads or records, which outputs must not overwrite."""
    model, _ = split_model_path(options.model)
    model_files = [model, model.with_suffix(".bin"), sidecar_path(model)] if model.name else []
    paths = [options.weights, options.inputs, options.requests, options.expect, options.record, options.resume]
    return [*model_files, *(Path(path) for path in paths if path is not None)]


def _execute_model(
    model: Model,
    inputs: RunInputs,
    max_iterations: int | None,
    boundary_callback: OnIteration | None,
    resumed: ResumedRun | None,
    coverage: RunCoverage,
) -> tuple[Result, float]:
    """Run the model; the seconds exclude loading and compiling."""
    has_terminal = sys.stderr.isatty()
    inputs_text = f"inputs: {inputs.note}" if inputs.chosen_by_default else ""
    if inputs_text and has_terminal:
        terminal.err(inputs_text)
    _ = model.plan  # compiles
    default_text = f"inputs: {inputs.note}" if inputs.generated_by_default else ""
    progress = (
        ProgressLine(sys.stderr)
        if has_terminal
        else ProgressLog(sys.stderr, default_text, lambda path: _termination_text(model, path))
    )
    start = time.perf_counter()
    try:
        with progress:
            result = model.execute(
                inputs.values,
                on_iteration=boundary_callback,
                max_iterations=max_iterations,
                on_tick=progress.show_if_due,
                begin=resumed.restore if resumed else None,
                observer=coverage.recorder,
            )
    except ExecutionError as error:
        # An error message includes default inputs.
        message = f"{error.what} (inputs: {inputs.note})" if inputs_text and not has_terminal else error.what
        raise ExecutionError(message, error.remedy, **error.fields) from None
    seconds = time.perf_counter() - start
    if inputs_text and not has_terminal:
        # Printed after the run: an error is one line.
        terminal.err(inputs_text)
    return result, seconds


def _termination_text(model: Model, path: str) -> str:
    """A sentence about the termination of a loop."""
    from ....debugger.describe.node_text import NodeFormatter
    from ....debugger.describe.termination_text import termination_sentences
    from ....runtime.graph.producers import ProducerMap

    loop = next(plan.loop for plan in model.plan.loops if plan.path == path)
    first = next(termination_sentences(loop, NodeFormatter(ProducerMap.for_graph(model.graph))), "")
    return f"it ends {first[:1].lower()}{first[1:].rstrip('.')}" if first else ""
