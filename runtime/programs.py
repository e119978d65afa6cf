"""Files that are Python programs: scripts that build networks, and files with operators."""

from __future__ import annotations

import ast
import types
from pathlib import Path

from .errors import ModelError, one_line
from .files import bytes_of

#: No program has more bytes.
_MOST = 1 << 28


def compiled(path: Path) -> tuple[ast.Module, types.CodeType]:
    """What a program says, and as it runs.

    Raises:
        ModelError: it cannot be read, or is no Python.
    """
    try:
        source = bytes_of(path, _MOST)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None
    try:
        tree = ast.parse(source, str(path))
        return tree, compile(tree, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise ModelError(f"{path}{line}: is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelError(f"{path}: is no Python: {one_line(error)}") from None
