"""Python files with user operators: registered functions, or ``onnx.reference`` classes.

The file runs once as a separate module. Its output is redirected to stderr: stdout may be JSON.
"""

from __future__ import annotations

import contextlib
import sys
import types
from pathlib import Path
from typing import Any

from ..errors import LoopdbgError, ModelError, TerminationExit, UsageError, one_line
from ..python_scripts import compile_script, isolated_imports
from .user_operators import operator, registered_operators


def load_operators(path: str | Path) -> list[tuple[str, str]]:
    """Run a file and register its operators.

    These are the operators that it registers itself, and each ``onnx.reference`` class that it defines (an ``OpRun``
    with ``op_domain`` and a method ``_run``), under the name of the class.

    Args:
        path: The Python file.

    Returns:
        The domain and name of each operator.

    Raises:
        ModelError: the file cannot be read, or fails; the message names its line.
        UsageError: the file has no operator.
    """
    file = Path(path)
    code = compile_script(file)
    module = types.ModuleType(f"loopdbg_operators.{file.stem}")
    module.__file__ = str(file)
    before = registered_operators()
    sys.modules[module.__name__] = module  # permanent: pickling and class lookup need it
    with isolated_imports(file.parent), contextlib.redirect_stdout(sys.stderr):
        try:
            exec(code, module.__dict__)
            for operator_class in _reference_classes(module):
                operator(operator_class.op_domain, operator_class.__name__)(operator_class)
        except (KeyboardInterrupt, TerminationExit):
            raise
        except LoopdbgError as error:
            raise type(error).with_location(_error_location(file, error), error) from None
        except BaseException as error:
            raise ModelError(f"{_error_location(file, error)}: {type(error).__name__}: {one_line(error)}") from None
    registered = [key for key, function in registered_operators().items() if before.get(key) is not function]
    if not registered:
        raise UsageError(
            f"{file} has no operator: register functions with @loopdbg.operator(domain, name), "
            "or define OpRun classes of onnx.reference"
        )
    return registered


def _reference_classes(module: types.ModuleType) -> list[Any]:
    """The ``OpRun`` classes that a module defines; none if their base was never imported."""
    base = getattr(sys.modules.get("onnx.reference.op_run"), "OpRun", None)
    if base is None:
        return []
    classes = [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, base)]
    return [item for item in classes if item.__module__ == module.__name__]


def _error_location(file: Path, error: BaseException) -> str:
    """The file and its innermost line in the traceback of an error."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}:{line}" if line else str(file)
