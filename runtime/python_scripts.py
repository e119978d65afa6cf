"""Loading of Python files: scripts that build networks, and files with operators."""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path

from .errors import ModelError, file_error, one_line
from .safe_file_reading import read_bytes

#: Size limit of a script.
_MAX_SCRIPT_BYTES = 1 << 28
#: Path prefixes of this package, the standard library and generated code.
_LIBRARY_PREFIXES = (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), "<")


def compile_script(path: Path) -> types.CodeType:
    """Compile a script.

    Raises:
        ModelError: it cannot be read, or is not valid Python.
    """
    try:
        source = read_bytes(path, _MAX_SCRIPT_BYTES)
    except OSError as error:
        raise file_error(ModelError, path, "cannot be read", error) from None
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise ModelError(f"{path}{line}: is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelError(f"{path}: is no Python: {one_line(error)}") from None


@contextlib.contextmanager
def isolated_imports(folder: Path) -> Iterator[None]:
    """Let a script import fresh modules from its folder, even if their names are already imported from elsewhere.

    Restores ``sys.path`` and ``sys.modules`` afterwards: another script may have modules of the same names, and files
    may be edited before the next run.
    """
    path, previous_modules = list(sys.path), dict(sys.modules)
    for name in _modules_shadowed_by_folder(folder):
        del sys.modules[name]
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if previous_modules.get(name) is not module and is_script_file(_module_file(module), folder):
                del sys.modules[name]
        for name, module in previous_modules.items():
            sys.modules.setdefault(name, module)


def _modules_shadowed_by_folder(folder: Path) -> list[str]:
    """Imported non-library modules from elsewhere whose names also exist in the folder."""
    local: set[str] = set()
    with contextlib.suppress(OSError):  # the folder may not be listable
        local = {entry.name if entry.is_dir() else entry.stem for entry in folder.resolve().iterdir()} - {"__main__"}
    shadowed = []
    for name, module in sys.modules.items():
        file = _module_file(module)
        if name.partition(".")[0] in local and file and not is_library_file(file) and not is_script_file(file, folder):
            shadowed.append(name)
    return shadowed


def _module_file(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def is_library_file(file: str) -> bool:
    """True if a file belongs to Python, to an installed package or to loopdbg, or is generated code."""
    return file.startswith(_LIBRARY_PREFIXES) or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def is_script_file(file: str, folder: Path) -> bool:
    """True if a file is in the script's folder, and not part of a library inside it or of loopdbg."""
    return bool(file) and not is_library_file(file) and Path(file).resolve().is_relative_to(folder.resolve())
