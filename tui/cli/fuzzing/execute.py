"""Implements ``loopdbg fuzz``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from ....debugger.breakpoints.assertion import expand_assertion_files, read_invariants
from ....debugger.export_formats.junit import write_report
from ....debugger.fuzz.campaign import FuzzCampaign
from ....debugger.fuzz.finding import FindingKind
from ....debugger.fuzz.folder import FuzzFolder
from ....debugger.fuzz.job import make_fuzz_job
from ....runtime.errors import InterruptError, LimitError, LoopdbgError
from .. import terminal
from ..execution.scripted_session import ASSERTION_FAILED_STATUS
from ..model_inputs.gather import load_runnable_model
from .report import finding_lines, fuzz_json, junit_cases, summary_lines

#: Exit status by kind of finding, highest priority first.
_EXIT_STATUS_ORDER = (
    (FindingKind.ASSERT, ASSERTION_FAILED_STATUS),
    (FindingKind.DIFFERS, 6),
    (FindingKind.ERROR, LoopdbgError.exit_status),
    (FindingKind.KILLED, LoopdbgError.exit_status),
    (FindingKind.ENDLESS, LimitError.exit_status),
    (FindingKind.TIMEOUT, LimitError.exit_status),
)


def run_fuzz(options: argparse.Namespace) -> int:
    """Fuzz a model and report the findings; returns the exit status."""
    model = load_runnable_model(options.model, options.weights, options)
    invariants = [] if options.invariants is None else read_invariants(options.invariants)
    job = make_fuzz_job(
        model,
        options.model,
        weights=options.weights,
        against=options.against,
        asserts=(*expand_assertion_files(options.asserts), *invariants),
        dims=options.dim,
        constraints=options.where,
        max_iterations=options.max_iterations,
        timeout=options.timeout,
        operators=options.operators,
    )
    path = options.output or Path(f"{Path(options.model.partition(':')[0]).stem}.fuzz")
    folder = FuzzFolder(path, model)
    folder.open({**job.settings(), "seed": options.seed})
    processes = options.jobs or os.cpu_count() or 1
    campaign = FuzzCampaign(job, model, folder, options.seed, processes, options.dask)
    if folder.state["rounds"]:
        terminal.err(f"{path}: goes on after {folder.state['runs']} runs, with {len(campaign.entries)} inputs")
    interrupted = False
    try:
        with closing(campaign.run(options.time)) as findings:
            for _ in findings:
                if not options.json:
                    for line in finding_lines(folder.state["findings"][-1], options, path):
                        terminal.out(line)
                    sys.stdout.flush()
    except KeyboardInterrupt:
        interrupted = True
    coverage = None if interrupted else campaign.coverage()
    if options.junit is not None:
        write_report(options.junit, junit_cases(campaign, folder, coverage, options), "loopdbg fuzz")
    if options.json:
        terminal.out_json(fuzz_json(campaign, folder, coverage, options))
    else:
        for line in summary_lines(campaign, folder, coverage):
            terminal.out(line)
    if interrupted:
        terminal.err("loopdbg: interrupted; the same command goes on")
        return InterruptError.exit_status
    return _exit_status(entry["kind"] for entry in folder.state["findings"])


def _exit_status(kinds: Iterable[str]) -> int:
    present = set(kinds)
    return next((status for kind, status in _EXIT_STATUS_ORDER if kind.value in present), 0)
