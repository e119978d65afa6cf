"""Checks on the whole source: which tests have assertions, and which file imports which."""

from __future__ import annotations

import ast
import gc
import runpy
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = Path(__file__).parents[1]


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable garbage collection: many syntax trees are built, and scanning them takes as long as building them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# ------------------------------------------------------------------ tests with assertions

#: Calls that fail a test by themselves.
ASSERTING_CALLS = ("pytest.raises", "pytest.warns", "pytest.fail", "np.testing.")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class ParsedTestFile:
    """The functions and methods of one test file by name, and the origins of imported names."""

    tree: ast.Module
    functions: dict[str, list[Function]] = field(default_factory=dict)
    #: A local name: its module, and its name there, empty for the module itself.
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, folder: Path) -> ParsedTestFile:
        module = cls(ast.parse(path.read_text(encoding="utf-8")))
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                module.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                inits = [
                    item for item in node.body if isinstance(item, Function) and item.name in ("__init__", "__call__")
                ]
                module.functions.setdefault(node.name, []).extend(inits)
            elif isinstance(node, ast.Import):
                module.imported |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                result = path.parents[node.level - 1].relative_to(folder) if node.level else Path()
                where = (result / node.module.replace(".", "/")).as_posix()
                module.imported |= {alias.asname or alias.name: (where, alias.name) for alias in node.names}
        return module


class AssertionIndex:
    """Which functions of the tests assert something, directly or in a function that they call."""

    def __init__(self, folder: Path = TESTS) -> None:
        files = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.py"))}
        with gc_disabled():
            self.modules = {name: ParsedTestFile.read(path, folder) for name, path in files.items()}
        self._known: dict[int, bool] = {}

    def tests_without_assertions(self) -> Iterator[str]:
        """The tests that assert nothing: ``unit/test_x.py::test_y``."""
        for name, module in self.modules.items():
            for function in module.functions.values():
                for item in function:
                    if item.name.startswith("test_") and not self.asserts(item, module):
                        yield f"{name}.py::{item.name}"

    def asserts(self, function: Function, module: ParsedTestFile) -> bool:
        """Whether a function asserts something."""
        key = id(function)
        if key not in self._known:
            self._known[key] = False  # of a recursive function
            self._known[key] = any(self._node_asserts(node, module) for node in ast.walk(function))
        return self._known[key]

    def _node_asserts(self, node: ast.AST, module: ParsedTestFile) -> bool:
        if isinstance(node, ast.Raise):
            return node.exc is not None and "AssertionError" in ast.unparse(node.exc)
        if isinstance(node, ast.Attribute):
            of = dotted_name(node.value)
            return bool(of) and (
                f"{of}.{node.attr}".startswith(ASSERTING_CALLS) or self._name_asserts(of, node.attr, module)
            )
        return isinstance(node, ast.Assert) or (isinstance(node, ast.Name) and self._name_asserts("", node.id, module))

    def _name_asserts(self, of: str, name: str, module: ParsedTestFile) -> bool:
        """Whether a name, or one in an imported module, is a function that asserts something."""
        where, own = module.imported.get(of or name, ("", name))
        if of and own:  # an attribute of an object that is not a module
            return False
        # Helpers are imported by their bare names.
        result = self.modules.get(where) or self.modules.get(f"support/{where}")
        home = result if where else None if of else module
        return home is not None and any(self.asserts(item, home) for item in home.functions.get(own or name, ()))


def dotted_name(node: ast.expr) -> str:
    """A name, or one of a module with its dots; empty for anything else. ``ast.unparse`` takes twenty times as long."""
    if isinstance(node, ast.Name):
        return node.id
    of = dotted_name(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{of}.{node.attr}" if of and isinstance(node, ast.Attribute) else ""


# ------------------------------------------------------------------ written files

#: The one module that opens files for writing, and its file objects: everything written to these is written atomically.
ATOMIC_FILE_MODULE = "runtime/atomic_file.py"
_ATOMIC_WRITERS = {"atomic_binary", "atomic_text"}
#: Calls that create, change, move or remove files, by the last part of their names.
_WRITING_METHODS = {
    *("write_text", "write_bytes", "touch", "mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory"),
    *("copyfile", "copy2", "copytree", "rmtree", "renames", "symlink_to", "hardlink_to", "unlink", "rmdir"),
    *("savez", "savez_compressed", "savetxt", "tofile", "save_model", "savefig", "serialize", "ParquetWriter"),
    *("open_memmap", "FileHandler", "to_csv", "to_parquet", "truncate", "mkfifo", "save_file"),
}
#: The same for functions of certain modules, because other objects have methods of these names.
_WRITING_FUNCTIONS = {
    *("os.rename", "os.replace", "os.remove", "os.link", "os.symlink", "os.truncate", "shutil.copy", "shutil.move"),
    *("np.save", "onnx.save", "sqlite3.connect"),
}


def file_writes(path: Path) -> Iterator[str]:
    """The calls in a file that may write files: ``function: call``. Those that write into a file of ``_ATOMIC``, and
    functions of :data:`WRITER`, are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("atomic_file")
        for alias in node.names
    }
    opened = {
        item.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and isinstance(item.optional_vars, ast.Name)
        if dotted_name(item.context_expr.func) in ours & _ATOMIC_WRITERS
    }
    inside = {
        id(node): f"{function.name}: "
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not _may_write(node, ours):
            continue
        if not any(isinstance(arg, ast.Name) and arg.id in opened for arg in node.args[:1]):
            yield inside.get(id(node), "") + ast.unparse(node.func)


def _may_write(call: ast.Call, ours: Collection[str]) -> bool:
    name = dotted_name(call.func)
    last = name.rpartition(".")[2] or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    if name in ours:
        return False
    if name == "truncate":  # of a text; that of a file is a method
        return False
    if name in _WRITING_FUNCTIONS or last in _WRITING_METHODS:
        return True
    if last in ("rename", "replace"):  # of a path; that of a text has two arguments, that of a dataclass names them
        return len(call.args) == 1 and not call.keywords and isinstance(call.func, ast.Attribute)
    if last in ("open", "ZipFile", "TarFile", "fdopen"):
        if name in ("os.open", "os.fdopen"):
            return any(word in ast.unparse(call) for word in ("O_WRONLY", "O_RDWR", "O_CREAT", "'w", "'a", "'x"))
        words = [
            item.value for item in (*call.args, *(k.value for k in call.keywords)) if isinstance(item, ast.Constant)
        ]
        return any(
            isinstance(word_value, str) and set("wax+") & set(word_value) and set("rwxabt+") >= set(word_value)
            for word_value in words
        )
    return False


# ------------------------------------------------------------------ imports


#: The imports and cimports in Cython source, as Python.
_cython_imports = runpy.run_path(str(ROOT / ".ci" / "import_tree.py"))["imports"]


def source_files(*folders: str) -> list[Path]:
    """The source files in some folders of the program."""
    result = (path for folder in folders for path in (ROOT / folder).rglob("*.p*"))
    return sorted(path for path in result if path.suffix in (".py", ".pyx", ".pxd"))


@cache
def import_graph() -> dict[str, set[str]]:
    """What each file of the program imports of the program, within functions and for types alone too; a Cython module
    with its .pxd is one file, and a package's name its ``__init__``."""
    sources: dict[str, list[Path]] = {}
    for path in source_files("runtime", "debugger", "tui"):
        name = path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")
        sources.setdefault(name, []).append(path)
    with gc_disabled():
        return {
            name: {target for path in paths for target in _imports_of(path, sources)} - {name}
            for name, paths in sources.items()
        }


def _imports_of(path: Path, known: Collection[str]) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text if path.suffix == ".py" else "\n".join(_cython_imports(text)))):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = path.parents[node.level - 1].relative_to(ROOT) / (node.module or "").replace(".", "/")
            for alias in node.names:
                module = (home / alias.name).as_posix()
                yield from [name for name in (module, home.as_posix()) if name in known][:1]


def import_cycles(graph: Mapping[str, Collection[str]]) -> set[frozenset[str]]:
    """The sets of files that import each other in a cycle."""
    reached = {name: _reachable(name, graph) for name in graph}
    return {
        frozenset(other for other in result if name in reached[other])
        for name, result in reached.items()
        if name in result
    }


def _reachable(name: str, graph: Mapping[str, Collection[str]]) -> set[str]:
    results: set[str] = set()
    left = list(graph[name])
    while left:
        if (first := left.pop()) not in results:
            results.add(first)
            left += graph[first]
    return results
