"""PyTorch as a reference: an exported program or a module, run node by node, through the bodies of its loops.

Needs PyTorch, which is imported when a reference is made: ``pip install 'loopdbg[torch]'``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...runtime.errors import UsageError
from .reference import Reference

if TYPE_CHECKING:
    pass


def is_torch(value: Any) -> bool:
    """Whether something is a module or an exported program of PyTorch; does not import it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module | torch.export.ExportedProgram)


def open_program(path: str) -> Any:
    """The program in a file of ``torch.export.save``, which can do what a script can.

    Raises:
        UsageError: PyTorch is not installed.
        ModelError: the file is not there, or no such program.
    """
    _require_torch()
    from .torch_export import load_program

    return load_program(path)


def run_torch_reference(
    module_or_program: Any,
    inputs: Mapping[str, Any],
    *,
    label: str = "",
    max_iterations: int | None = None,
    limit: int | None = None,
) -> Reference:
    """Run a ``torch.nn.Module`` or ``torch.export.ExportedProgram`` and keep what every node computes in every
    iteration of ``while_loop`` and ``scan``, and every step of recurrent layers and cells.

    A module is exported first; if it cannot be, it runs in Python, and the states of its recurrent layers and cells
    are kept.

    Args:
        module_or_program: what to run. A module is run as it is: call ``eval()`` first.
        inputs: name -> array of the model; the program's inputs are found by name, what is left by position.
        label: what to call it.
        max_iterations: the most iterations of any loop.
        limit: bytes that all values together may take (2 GiB).

    Raises:
        UsageError: PyTorch is not installed, or this is neither of both.
        InputError: an input is missing, or of another dtype or shape than the program was exported for.
        ExecutionError: a node failed.
        LimitError: the values take more than ``limit``.
    """
    _require_torch()
    if not is_torch(module_or_program):
        raise UsageError(f"a {type(module_or_program).__name__} is no module and no exported program of PyTorch")
    import torch

    from .torch_reference import reference_from_module, reference_from_program
    from .torch_tensors import DEFAULT_LIMIT_BYTES, ValueStore

    make = reference_from_module if isinstance(module_or_program, torch.nn.Module) else reference_from_program
    found = make(module_or_program, inputs, ValueStore(DEFAULT_LIMIT_BYTES if limit is None else limit), max_iterations)
    found.label = label or found.label
    return found


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise UsageError(
            "a PyTorch reference needs torch, which is not installed: pip install 'loopdbg[torch]'"
        ) from None
