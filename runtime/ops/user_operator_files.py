"""Files with operators that a user brings along: a Python file that registers functions, or has classes of
``onnx.reference``.

The file is run once, as a module of its own. What it prints goes to stderr: stdout may be JSON.
"""

from __future__ import annotations

import contextlib
import sys
import types
from pathlib import Path
from typing import Any

from ..errors import LoopdbgError, ModelError, TerminationExit, UsageError, one_line
from ..python_scripts import compile_script, import_from_folder
from .user_operators import operator, registered_operators


def load_operators(path: str | Path) -> list[tuple[str, str]]:
    """Run a file, and register its operators: what it registers itself, and each class of ``onnx.reference`` (an
    ``OpRun`` with its ``op_domain`` and a method ``_run``) that it defines, under the name of the class.

    Returns the domain and name of each.

    Raises:
        ModelError: the file cannot be read, or fails; the text names its line.
        UsageError: it has no operator.
    """
    file = Path(path)
    _, code = compile_script(file)
    module = types.ModuleType(f"loopdbg_operators.{file.stem}")
    module.__file__ = str(file)
    before = registered_operators()
    sys.modules[module.__name__] = module  # for good: its functions may be pickled, and its classes ask for it
    with import_from_folder(file.parent), contextlib.redirect_stdout(sys.stderr):
        try:
            exec(code, module.__dict__)
            for kind in _reference_classes(module):
                operator(kind.op_domain, kind.__name__)(kind)
        except (KeyboardInterrupt, TerminationExit):
            raise
        except LoopdbgError as error:
            raise type(error).at(_error_location(file, error), error) from None
        except BaseException as error:
            raise ModelError(f"{_error_location(file, error)}: {type(error).__name__}: {one_line(error)}") from None
    found = [key for key, function in registered_operators().items() if before.get(key) is not function]
    if not found:
        raise UsageError(
            f"{file} has no operator: register functions with @loopdbg.operator(domain, name), "
            "or define OpRun classes of onnx.reference"
        )
    return found


def _reference_classes(module: types.ModuleType) -> list[Any]:
    """The classes that a module defines; if nobody imported their base, there are none."""
    base = getattr(sys.modules.get("onnx.reference.op_run"), "OpRun", None)
    if base is None:
        return []
    classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, base)]
    return [one for one in classes if one.__module__ == module.__name__]


def _error_location(file: Path, error: BaseException) -> str:
    """The file, and the innermost line of it that an error came through."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}:{line}" if line else str(file)
