"""Implements ``loopdbg optimize``."""

from __future__ import annotations

import argparse

from ....debugger.optimization.api import find_optimizations
from ....debugger.optimization.report import optimization_lines
from ....runtime.errors import InterruptError, UsageError
from .. import terminal
from ..model_inputs.gather import gather_inputs, load_runnable_model


def run_optimize(options: argparse.Namespace) -> int:
    """Find rewrites and report; returns the exit status."""
    path = options.output
    model = load_runnable_model(options.model, options.weights, options)
    suffix = ".xml" if model.path is not None and model.path.suffix == ".xml" else ".onnx"
    if path is not None and (path.suffix.lower() != suffix or not path.absolute().parent.is_dir()):
        raise UsageError(f"{path}: -o needs a file that ends in {suffix}, in a folder that is there already")
    inputs = gather_inputs(model, options)
    if inputs.chosen_by_default:
        terminal.err(f"inputs: {inputs.note}")
    report = find_optimizations(
        model,
        inputs.values,
        [name for name in options.only.split(",") if name],
        options.count,
        options.seconds,
        save=path,
        reports_partial=True,
    )
    status = InterruptError.exit_status if report.interrupted else 0
    if options.json:
        terminal.out_json(report.to_json())
        return status
    for line in optimization_lines(report):
        terminal.out(line)
    return status
