"""``loopdbg diff MODEL --against torch:FILE.pt2``: a model against the PyTorch program that it was exported from."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...debugger.diff.against_reference import compare_reference
from ...debugger.diff.findings import Comparison
from ...debugger.diff.sides import ModelSide
from ...debugger.diff.streams import Options
from ...debugger.reference.torch import open_program, reference_of
from ...runtime.errors import UsageError
from . import terminal
from .inputs import gather, to_run
from .recorded import weights_of_two


def compare(options: argparse.Namespace, settings: Options) -> Comparison:
    """Run both on the inputs that the options say, as of any run of the model.

    Raises:
        UsageError: an option of live runtimes, or PyTorch is not installed.
        ModelError: the file is no exported program.
        InputError: the program cannot be given the inputs of the model.
        ExecutionError, LimitError: one of both does not run.
    """
    for option in ("lockstep", "free", "timeout", "peer_option"):
        if getattr(options, option):
            raise UsageError(f"--{option.replace('_', '-')} is about a live runtime, and torch:FILE is a program")
    model = to_run(options.a, weights_of_two([options.a], options.weights)[0], options)
    program = open_program(options.against.rest)
    inputs = gather(model, options)
    for remark in inputs.remarks:
        terminal.err(f"note: {remark}")
    if inputs.chosen_here:
        terminal.err(f"inputs: {inputs.note}")
    side = ModelSide(model, inputs.values, options.max_iterations)
    label = Path(options.against.rest).name
    reference = reference_of(program, side.inputs, label=label, max_iterations=options.max_iterations)
    return compare_reference(side, reference, settings)
