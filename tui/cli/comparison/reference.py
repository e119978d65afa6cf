"""``loopdbg diff`` with a reference, or with the PyTorch program of a model (``--against torch:FILE.pt2``)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....debugger.compare.api import inputs_for
from ....debugger.compare.reference_match.reference_comparison import compare_reference
from ....debugger.compare.report.findings import Comparison
from ....debugger.compare.running.boundary_merge import ComparisonOptions
from ....debugger.compare.running.sides import ModelSide, open_side
from ....debugger.reference.reference import Reference
from ....debugger.reference.reference_files import is_reference, read_reference
from ....debugger.reference.torch_api import open_program, run_torch_reference
from ....runtime.errors import InputError, UsageError
from ....runtime.model import Data, Model
from .. import terminal
from ..model_inputs.gather import apply_requests_option, gather_inputs, load_runnable_model, set_state
from ..model_or_trace import pair_weights
from ..remedies import error_text


def compare_with_reference(options: argparse.Namespace, settings: ComparisonOptions) -> Comparison:
    """Compare a model or a trace with a reference, in either order.

    Raises:
        UsageError: Both are references, or a name of ``--map`` is unknown.
        InputError: The reference cannot be read, or its inputs do not fit the model.
    """
    paths = [options.a, options.b]
    if all(map(is_reference, paths)):
        raise UsageError(f"{options.a} and {options.b}: both are references; one of the two is a model or a trace")
    if is_reference(options.a):
        paths.reverse()
        settings = replace(settings, names={right: left for left, right in settings.names.items()})
    (weights,) = pair_weights(paths[:1], options.weights)
    source = open_side(paths[0], weights)
    try:
        if isinstance(source, Model):
            source = apply_requests_option(source, options)
            reference = read_reference(paths[1], source.inputs, source.outputs)
            side: Any = _model_side(
                source, _model_inputs(source, reference, options, settings.names), reference, options
            )
        else:
            _reject_input_options(source.label, options)
            side, reference = source, read_reference(paths[1], (), ())
        return compare_reference(side, reference, settings)
    except UsageError as error:
        raise UsageError(f"--map {error}" if settings.names else str(error)) from None
    finally:
        if not isinstance(source, Model):
            source.trace.close()


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


def _model_side(
    model: Model, inputs: Mapping[str, Data], reference: Reference, options: argparse.Namespace
) -> ModelSide:
    try:
        return ModelSide(model, inputs, options.max_iterations)
    except InputError as error:
        raise InputError(f"{model.name} is given the inputs of {reference.label}: {error_text(error)}") from None


def _reject_input_options(label: str, options: argparse.Namespace) -> None:
    for option in ("input", "inputs", "seed", "dim", "max_iterations"):
        if getattr(options, option) not in (None, []):
            word = option.replace("_", "-")
            raise UsageError(f"--{word}: {label} is a trace, which has its inputs and is not run again")


def _model_inputs(
    model: Model, reference: Reference, options: argparse.Namespace, names: Mapping[str, str]
) -> Mapping[str, Data]:
    """The inputs of the model: from the options, else of the reference, else as for any run."""
    ports = [port for port in model.inputs if not port.optional]
    recorded = inputs_for(model, reference, names)
    explicit = any(
        getattr(options, option) not in (None, []) for option in ("input", "inputs", "seed", "dim", "requests")
    )
    if not explicit and all(port.name in recorded for port in ports):
        set_state([model], options.state)
        terminal.err(f"inputs: from {reference.label}")
        return recorded
    inputs = gather_inputs(model, options)
    inputs.print_notes()
    return inputs.values if explicit else {**inputs.values, **recorded}
