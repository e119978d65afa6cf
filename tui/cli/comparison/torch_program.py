"""``loopdbg diff MODEL --against torch:FILE.pt2``: compares a model with its original PyTorch program."""

from __future__ import annotations

import argparse
from pathlib import Path

from ....debugger.compare.reference_match.reference_comparison import compare_reference
from ....debugger.compare.report.findings import Comparison
from ....debugger.compare.running.boundary_merge import ComparisonOptions
from ....debugger.compare.running.sides import ModelSide
from ....debugger.reference.torch_api import open_program, run_torch_reference
from ....runtime.errors import UsageError
from ..model_inputs.gather import gather_inputs, load_runnable_model
from ..model_or_trace import pair_weights


def compare_with_torch(options: argparse.Namespace, settings: ComparisonOptions) -> Comparison:
    """Run both on the inputs of the options and compare them.

    Raises:
        UsageError: An option is for live runtimes only, or PyTorch is not installed.
        ModelError: The file is no exported program.
        InputError: The inputs of the model do not fit the program.
        ExecutionError, LimitError: The model or the program fails.
    """
    for option in ("lockstep", "free", "timeout", "peer_option"):
        if getattr(options, option):
            raise UsageError(f"--{option.replace('_', '-')} is about a live runtime, and torch:FILE is a program")
    model = load_runnable_model(options.a, pair_weights([options.a], options.weights)[0], options)
    program = open_program(options.against.argument)
    inputs = gather_inputs(model, options)
    inputs.print_notes()
    side = ModelSide(model, inputs.values, options.max_iterations)
    label = Path(options.against.argument).name
    reference = run_torch_reference(program, side.inputs, label=label, max_iterations=options.max_iterations)
    return compare_reference(side, reference, settings)
