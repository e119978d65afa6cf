"""Implements ``loopdbg precision``."""

from __future__ import annotations

import argparse

from ....debugger.precision.api import try_precision
from ....debugger.precision.report import precision_lines
from ....runtime.errors import InterruptError, UsageError
from .. import terminal
from ..model_inputs.gather import gather_inputs, load_runnable_model


def run_precision(options: argparse.Namespace) -> int:
    """Try a model in a narrower type and report; returns the exit status."""
    path = options.save
    if path is not None and (path.suffix.lower() != ".onnx" or not path.absolute().parent.is_dir()):
        raise UsageError(f"{path}: --save needs a file that ends in .onnx, in a folder that is there already")
    type_name, _, only = options.type_name.partition(":")
    model = load_runnable_model(options.model, options.weights, options)
    inputs = gather_inputs(model, options)
    if inputs.chosen_by_default:
        terminal.err(f"inputs: {inputs.note}")
    precision = try_precision(
        model,
        inputs.values,
        type_name,
        only=_split_names(only),
        keep=_split_names(options.keep),
        tolerance=options.tolerance,
        seconds=options.seconds,
        max_iterations=options.max_iterations,
        save=path,
        reports_partial=True,
    )
    status = InterruptError.exit_status if precision.interrupted else 0
    if options.json:
        terminal.out_json(precision.to_json())
        return status
    for line in precision_lines(precision, options.metric, options.block_list):
        terminal.out(line)
    if path is not None and not precision.interrupted:
        terminal.out(f"saved as {path}")
    return status


def _split_names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]
