"""PyTorch as a reference: runs an exported program or a module node by node, including the bodies of its loops.

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
    """Whether a value is a module or an exported program of PyTorch; does not import PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module | torch.export.ExportedProgram)


def open_program(path: str) -> Any:
    """Return the program in a file of ``torch.export.save``; loading such a file can execute code.

    Raises:
        UsageError: PyTorch is not installed.
        ModelError: no such file, or it is no such program.
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
    """Run a ``torch.nn.Module`` or ``torch.export.ExportedProgram`` and record what every node computes in every
    iteration of ``while_loop`` and ``scan``, and every step of recurrent layers and cells.

    A module is exported first; if it cannot be, it runs in Python, and only states of recurrent layers and cells are
    recorded.

    Args:
        module_or_program: the model. A module is run as it is: call ``eval()`` first.
        inputs: name -> array of the model; the program's inputs are matched by name, the others by position.
        label: the display name.
        max_iterations: the maximum number of iterations of any loop.
        limit: maximum size of all values in bytes (2 GiB).

    Raises:
        UsageError: PyTorch is not installed, or unsupported model.
        InputError: an input is missing, or of another dtype or shape than the program was exported for.
        ExecutionError: a node failed.
        LimitError: the values take more than ``limit``.
    """
    _require_torch()
    if not is_torch(module_or_program):
        raise UsageError(
            f"a {type(module_or_program).__name__} is no module and no exported program of PyTorch",
            got=type(module_or_program).__name__,
        )
    import torch

    from .torch_reference import reference_from_module, reference_from_program
    from .torch_tensors import DEFAULT_LIMIT_BYTES, ValueStore

    make = reference_from_module if isinstance(module_or_program, torch.nn.Module) else reference_from_program
    reference = make(
        module_or_program, inputs, ValueStore(DEFAULT_LIMIT_BYTES if limit is None else limit), max_iterations
    )
    reference.label = label or reference.label
    return reference


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise UsageError(
            "a PyTorch reference needs torch, which is not installed: pip install 'loopdbg[torch]'", name="torch"
        ) from None
