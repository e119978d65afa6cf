"""Files that are Python programs: scripts that build networks, and files with operators."""

from __future__ import annotations

import ast
import contextlib
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path

from .errors import ModelError, one_line
from .stable_file import read_bytes

#: No program has more bytes.
_MAX_SCRIPT_BYTES = 1 << 28
#: Where this package and Python itself are.
_LIBRARY_PREFIXES = (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), "<")


def compile_script(path: Path) -> tuple[ast.Module, types.CodeType]:
    """What a program says, and as it runs.

    Raises:
        ModelError: it cannot be read, or is no Python.
    """
    try:
        source = read_bytes(path, _MAX_SCRIPT_BYTES)
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


@contextlib.contextmanager
def import_from_folder(folder: Path) -> Iterator[None]:
    """A program finds the modules in its folder, read anew, whatever was imported under their names elsewhere.

    Afterwards ``sys.path`` and ``sys.modules`` are what they were: the next program may have others of these names, and
    its files may be edited before it runs again.
    """
    path, before = list(sys.path), dict(sys.modules)
    for name in _modules_shadowed_by_folder(folder):
        del sys.modules[name]
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if before.get(name) is not module and is_script_file(_module_file(module), folder):
                del sys.modules[name]
        for name, module in before.items():
            sys.modules.setdefault(name, module)


def _modules_shadowed_by_folder(folder: Path) -> list[str]:
    """What was imported from elsewhere, no library, under a name that is in the folder too."""
    here: set[str] = set()
    with contextlib.suppress(OSError):  # a folder that may be entered and not listed
        here = {one.name if one.is_dir() else one.stem for one in folder.resolve().iterdir()} - {"__main__"}
    found = []
    for name, module in sys.modules.items():
        file = _module_file(module)
        if name.partition(".")[0] in here and file and not is_library_file(file) and not is_script_file(file, folder):
            found.append(name)
    return found


def _module_file(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def is_library_file(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to loopdbg, or is generated code."""
    return file.startswith(_LIBRARY_PREFIXES) or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def is_script_file(file: str, folder: Path) -> bool:
    """A file is of the program's own folder, and not of a library inside it, nor of ours."""
    return bool(file) and not is_library_file(file) and Path(file).resolve().is_relative_to(folder.resolve())
