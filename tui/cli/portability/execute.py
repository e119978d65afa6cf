"""Implements ``loopdbg check``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....debugger.diagnostics.report import Diagnosis, Diagnostic
from ....debugger.export_formats import junit
from ....debugger.peer_trials.check_model import check_by_rules, check_unreadable, check_with_runs, installed_peers
from ....debugger.peer_trials.target_report import TargetReport
from ....debugger.portability.known_differences import TargetVerdict
from ....runtime.errors import InterruptError, LoopdbgError, ModelError
from ....runtime.model import Data, Model, load
from .. import terminal
from ..execution.ci_checks import DIAGNOSED_STATUS, github_annotations
from ..model_inputs.gather import gather_inputs
from ..model_or_trace import pair_weights
from ..remedies import error_text
from .fix import check_fix_options, fix_and_write
from .report import ModelReport, check_report_json, check_report_junit_cases, check_report_lines

#: A runtime contradicts a rule, or nothing is known.
_UNDECIDED_STATUS = 8
_DEFAULT_TIMEOUT_SECONDS = 60.0
#: Iterations of a loop that are judged where no other limit is set.
_JUDGED_ITERATIONS = 1000


def run_check(options: argparse.Namespace) -> int:
    """Check the models and print the reports; returns the exit status."""
    check_fix_options(options)
    weights = pair_weights(options.models, options.weights)
    reports = [_check_model(path, file, options) for path, file in zip(options.models, weights, strict=True)]
    if options.json:
        terminal.out_json(check_report_json(reports))
    else:
        for report in reports:
            for line in check_report_lines(report):
                terminal.out(line)
    cases = [case for report in reports for case in check_report_junit_cases(report)]
    if options.github:
        for line in github_annotations(cases):
            terminal.err_workflow_command(line)
    if options.junit is not None:
        junit.write_report(options.junit, cases, "loopdbg check")
    status = exit_status([target for report in reports for target in report.targets])
    return status or (DIAGNOSED_STATUS if any(report.diagnostics for report in reports) else 0)


def exit_status(targets: list[TargetReport]) -> int:
    """The exit status for all results: a contradiction is reported even where something does not load."""
    verdicts = {target.verdict for target in targets}
    if any(target.contradictions for target in targets):
        return _UNDECIDED_STATUS
    if verdicts & {TargetVerdict.DOES_NOT_LOAD, TargetVerdict.DIFFERS}:
        return LoopdbgError.exit_status
    return _UNDECIDED_STATUS if TargetVerdict.UNKNOWN in verdicts else 0


def _check_model(path: str, weights: str | None, options: argparse.Namespace) -> ModelReport:
    timeout = options.timeout or _DEFAULT_TIMEOUT_SECONDS
    peers = [] if options.no_run else installed_peers(options.targets)
    try:
        model = load(path, weights)
    except ModelError as error:
        if not Path(path).is_file():
            raise
        text = error_text(error)
        return ModelReport(path, None, check_unreadable(path, text, options.targets, peers, timeout), text)
    inputs = None if options.no_run else _gather_model_inputs(model, options)
    fixes = None
    if options.fix:
        fixes = fix_and_write(model, inputs, options)
        model = model if fixes.path is None else load(fixes.path)
    if inputs is None:
        return ModelReport(path, model, check_by_rules(model, options.targets), fixes=fixes)
    targets = check_with_runs(model, inputs, options.targets, options.max_iterations, timeout)
    return ModelReport(path, model, targets, fixes=fixes, diagnostics=_find_diagnostics(model, inputs, options))


def _gather_model_inputs(model: Model, options: argparse.Namespace) -> Mapping[str, Data]:
    # Of several models each has its own inputs.
    inputs = gather_inputs(model, argparse.Namespace(**{**vars(options), "model": str(model.path)}))
    inputs.print_notes()
    return inputs.values


def _find_diagnostics(model: Model, inputs: Mapping[str, Data], options: argparse.Namespace) -> Sequence[Diagnostic]:
    """What is suspicious in a run; nothing where the model cannot be run here: then a rule or a trial says so.

    Raises:
        InterruptError: Ctrl-C.
    """
    try:
        diagnosis: Diagnosis = model.diagnose(inputs, max_iterations=options.max_iterations or _JUDGED_ITERATIONS)
    except InterruptError:
        raise
    except LoopdbgError:
        return ()
    if diagnosis.interrupted:
        raise InterruptError("interrupted while the run was judged")
    return diagnosis.findings
