"""Exported programs: opening files, exporting modules, and the arguments of a program's run."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from ...runtime.errors import InputError, ModelError
from .torch_tensors import as_tensor


def load_program(path: str) -> torch.export.ExportedProgram:
    """Return a program that ``torch.export.save`` wrote. Such a file can execute code: open only trusted files.

    Raises:
        ModelError: no such file, no program, or one of an incompatible PyTorch version.
    """
    if not Path(path).is_file():
        raise ModelError(f"{path}: no such file")
    try:
        with suppress_output():
            return torch.export.load(path)
    except Exception as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"{path}: is no exported program that PyTorch {torch.__version__} can read: {text}; "
            "torch.export.save(torch.export.export(module, inputs), FILE) writes one"
        ) from None


def export_module(module: torch.nn.Module, arguments: Sequence[Any]) -> torch.export.ExportedProgram:
    """Return the program of a module for inputs of these shapes.

    The bodies of its loops keep the source lines of their functions, which an ordinary export loses.
    """
    fused = torch.backends.mha.get_fastpath_enabled()
    # Without gradients a transformer layer would be one opaque operator.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with suppress_output(), torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            return torch.export.export(module, tuple(arguments))
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)


@contextlib.contextmanager
def suppress_output() -> Iterator[None]:
    """Suppress the warnings, logs and prints of PyTorch while it exports and opens files."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        sink = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def input_names(program: torch.export.ExportedProgram) -> list[str]:
    """The names of a program's inputs, in order."""
    return [str(spec.arg.name) for spec in program.graph_signature.input_specs if _is_user_input(spec)]


def parameter_names(module: torch.nn.Module) -> list[str]:
    """The names of a module's inputs, in order."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in inspect.signature(module.forward).parameters.items() if parameter.kind in kinds]


def assign_inputs(names: Sequence[str], inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Assign a model's inputs to those of a program or module: by name, the others by position.

    Raises:
        InputError: there are more inputs than ``names``.
    """
    values = {name: inputs[name] for name in names if name in inputs}
    rest = [name for name in inputs if name not in values]
    open_ = [name for name in names if name not in values]
    if len(rest) > len(open_):
        raise InputError(
            f"the PyTorch program has {len(names)} inputs ({', '.join(names)}): '{rest[len(open_)]}' is none of them"
        )
    values.update(zip(open_, (inputs[name] for name in rest), strict=False))
    return {name: as_tensor(values[name]) for name in names if name in values}


def graph_arguments(program: torch.export.ExportedProgram, inputs: Mapping[str, torch.Tensor]) -> list[Any]:
    """The arguments of a program's graph: parameters, buffers (copies: a run may change them), and inputs.

    Raises:
        InputError: an input is missing, or has another dtype or shape than the program was exported for.
    """
    arguments: list[Any] = []
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            value = program.state_dict.get(spec.target)
            value = program.constants[spec.target] if value is None else value
            arguments.append(value if spec.kind is InputKind.PARAMETER else value.clone())
        elif spec.kind is InputKind.USER_INPUT:
            arguments.append(_argument_value(program, spec.arg, inputs))
        else:
            arguments.append(program.constants.get(spec.target))
    return arguments


def _is_user_input(spec: Any) -> bool:
    return spec.kind is InputKind.USER_INPUT and not isinstance(spec.arg, ConstantArgument)


def _argument_value(program: torch.export.ExportedProgram, argument: Any, inputs: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(argument, ConstantArgument):
        return argument.value
    name = str(argument.name)
    if name not in inputs:
        raise InputError(
            f"the PyTorch program needs an input '{name}', which the model's inputs do not give", name=name
        )
    declared = next(node.meta.get("val") for node in program.graph.find_nodes(op="placeholder") if node.name == name)
    if not isinstance(declared, torch.Tensor):
        return inputs[name].item()
    _check_tensor(name, declared, inputs[name])
    return inputs[name]


def _check_tensor(name: str, declared: torch.Tensor, value: torch.Tensor) -> None:
    """Check a tensor; a symbolic dimension accepts any size."""
    fixed = [(size, actual) for size, actual in zip(declared.shape, value.shape, strict=False) if isinstance(size, int)]
    matches = declared.dim() == value.dim() and all(size == actual for size, actual in fixed)
    if matches and declared.dtype == value.dtype:
        return
    spec, used = (f"{str(x.dtype).removeprefix('torch.')}{[*x.shape]}" for x in (declared, value))
    raise InputError(
        f"the PyTorch program was exported for '{name}' as {spec}, and the model's input is {used}",
        name=name,
        expected=str(spec),
        got=str(used),
    )


def user_outputs(program: torch.export.ExportedProgram, results: Sequence[Any]) -> list[tuple[str, Any]]:
    """The outputs that a program's caller sees, of all results of its graph: (name in the graph, value)."""
    specs = program.graph_signature.output_specs
    return [
        (str(getattr(spec.arg, "name", "")), value)
        for spec, value in zip(specs, results, strict=True)
        if spec.kind is OutputKind.USER_OUTPUT
    ]
