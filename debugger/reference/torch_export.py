"""Exported programs: how a file is opened, a module exported, and what a program's run is given."""

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
    """A program that ``torch.export.save`` wrote. Such a file can do what a script can: open those you trust.

    Raises:
        ModelError: there is no such file, or it is none, or one that another PyTorch wrote.
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
    """The program of a module for inputs of these shapes.

    The bodies of its loops keep the source lines of the functions that they came from, which an ordinary export loses.
    """
    fused = torch.backends.mha.get_fastpath_enabled()
    # Without gradients a layer of a transformer would be one operator, of which nothing is seen.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with suppress_output(), torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            return torch.export.export(module, tuple(arguments))
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)


@contextlib.contextmanager
def suppress_output() -> Iterator[None]:
    """PyTorch warns, logs and prints a lot while it exports and opens files."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        nowhere = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def input_names(program: torch.export.ExportedProgram) -> list[str]:
    """What a program calls the tensors that it is given, in their order."""
    return [str(one.arg.name) for one in program.graph_signature.input_specs if _is_user_input(one)]


def parameter_names(module: torch.nn.Module) -> list[str]:
    """What a module calls its inputs, in their order."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, one in inspect.signature(module.forward).parameters.items() if one.kind in kinds]


def assign_inputs(names: Sequence[str], inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Inputs of a model for those of a program or module: by name, what is left by position.

    Raises:
        InputError: there are more inputs than ``names``.
    """
    found = {name: inputs[name] for name in names if name in inputs}
    left = [name for name in inputs if name not in found]
    free = [name for name in names if name not in found]
    if len(left) > len(free):
        raise InputError(
            f"the PyTorch program has {len(names)} inputs ({', '.join(names)}): '{left[len(free)]}' is none of them"
        )
    found.update(zip(free, (inputs[name] for name in left), strict=False))
    return {name: as_tensor(found[name]) for name in names if name in found}


def graph_arguments(program: torch.export.ExportedProgram, inputs: Mapping[str, torch.Tensor]) -> list[Any]:
    """What the graph of a program is run with: parameters, buffers (copies: a run may change them), and inputs.

    Raises:
        InputError: an input is missing, or has another dtype or shape than the program was exported for.
    """
    found: list[Any] = []
    for one in program.graph_signature.input_specs:
        if one.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            value = program.state_dict.get(one.target)
            value = program.constants[one.target] if value is None else value
            found.append(value if one.kind is InputKind.PARAMETER else value.clone())
        elif one.kind is InputKind.USER_INPUT:
            found.append(_argument_value(program, one.arg, inputs))
        else:
            found.append(program.constants.get(one.target))
    return found


def _is_user_input(spec: Any) -> bool:
    return spec.kind is InputKind.USER_INPUT and not isinstance(spec.arg, ConstantArgument)


def _argument_value(program: torch.export.ExportedProgram, argument: Any, inputs: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(argument, ConstantArgument):
        return argument.value
    name = str(argument.name)
    if name not in inputs:
        raise InputError(f"the PyTorch program needs an input '{name}', which the model's inputs do not give")
    declared = next(node.meta.get("val") for node in program.graph.find_nodes(op="placeholder") if node.name == name)
    if not isinstance(declared, torch.Tensor):
        return inputs[name].item()
    _check_tensor(name, declared, inputs[name])
    return inputs[name]


def _check_tensor(name: str, declared: torch.Tensor, value: torch.Tensor) -> None:
    """A dimension that is a symbol takes any size."""
    fixed = [(size, had) for size, had in zip(declared.shape, value.shape, strict=False) if isinstance(size, int)]
    fits = declared.dim() == value.dim() and all(size == had for size, had in fixed)
    if fits and declared.dtype == value.dtype:
        return
    wanted, have = (f"{str(one.dtype).removeprefix('torch.')}{[*one.shape]}" for one in (declared, value))
    raise InputError(f"the PyTorch program was exported for '{name}' as {wanted}, and the model's input is {have}")


def user_outputs(program: torch.export.ExportedProgram, results: Sequence[Any]) -> list[tuple[str, Any]]:
    """The outputs that a program's caller sees, of all that its graph returns: (name in the graph, value)."""
    specs = program.graph_signature.output_specs
    return [
        (str(getattr(one.arg, "name", "")), value)
        for one, value in zip(specs, results, strict=True)
        if one.kind is OutputKind.USER_OUTPUT
    ]
