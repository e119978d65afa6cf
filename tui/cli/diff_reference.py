"""``loopdbg diff`` with a reference: where its inputs and its values come from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...debugger.diff.against_reference import compare_reference
from ...debugger.diff.comparing import inputs_for
from ...debugger.diff.findings import Comparison
from ...debugger.diff.sides import ModelSide, open_side
from ...debugger.diff.streams import Options
from ...debugger.reference.files import is_reference, read_reference
from ...debugger.reference.reference import Reference
from ...runtime.errors import InputError, UsageError
from ...runtime.model import Data, Model
from . import terminal
from .inputs import as_requests, gather, give_state
from .recorded import weights_of_two
from .remedies import told


def compare(options: argparse.Namespace, settings: Options) -> Comparison:
    """Compare a model or a trace with a reference, whichever of the two is named first.

    Raises:
        UsageError: both are references, or a name of ``--map`` is none.
        InputError: the reference cannot be read, or the model cannot be given its inputs.
    """
    paths = [options.a, options.b]
    if all(map(is_reference, paths)):
        raise UsageError(f"{options.a} and {options.b}: both are references; one of the two is a model or a trace")
    if is_reference(options.a):
        paths.reverse()
        settings = replace(settings, names={there: here for here, there in settings.names.items()})
    (weights,) = weights_of_two(paths[:1], options.weights)
    source = open_side(paths[0], weights)
    try:
        if isinstance(source, Model):
            source = as_requests(source, options)
            reference = read_reference(paths[1], source.inputs, source.outputs)
            side: Any = _run(source, _inputs(source, reference, options, settings.names), reference, options)
        else:
            _refuse_inputs(source.label, options)
            side, reference = source, read_reference(paths[1], (), ())
        return compare_reference(side, reference, settings)
    except UsageError as error:
        raise UsageError(f"--map {error}" if settings.names else str(error)) from None
    finally:
        if not isinstance(source, Model):
            source.trace.close()


def _run(model: Model, inputs: Mapping[str, Data], reference: Reference, options: argparse.Namespace) -> ModelSide:
    try:
        return ModelSide(model, inputs, options.max_iterations)
    except InputError as error:
        raise InputError(f"{model.name} is given the inputs of {reference.label}: {told(error)}") from None


def _refuse_inputs(label: str, options: argparse.Namespace) -> None:
    for option in ("input", "inputs", "seed", "dim", "max_iterations"):
        if getattr(options, option) not in (None, []):
            word = option.replace("_", "-")
            raise UsageError(f"--{word}: {label} is a trace, which has its inputs and is not run again")


def _inputs(
    model: Model, reference: Reference, options: argparse.Namespace, names: Mapping[str, str]
) -> Mapping[str, Data]:
    """What the model is given: what the options say, else what the reference was run on, else as for any run."""
    ports = [port for port in model.inputs if not port.optional]
    known = inputs_for(model, reference, names)
    asked = any(getattr(options, option) not in (None, []) for option in ("input", "inputs", "seed", "dim", "requests"))
    if not asked and all(port.name in known for port in ports):
        give_state([model], options.state)
        terminal.err(f"inputs: from {reference.label}")
        return known
    inputs = gather(model, options)
    for remark in inputs.remarks:
        terminal.err(f"note: {remark}")
    if inputs.chosen_here:
        terminal.err(f"inputs: {inputs.note}")
    return inputs.values if asked else {**inputs.values, **known}
