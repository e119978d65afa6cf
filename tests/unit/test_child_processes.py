"""One module starts child processes, and none of them imports out of the current directory."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import source_checks
from loopdbg.runtime import child_process

#: Modules that start processes; asyncio.subprocess alone has types that others need.
BANNED_IMPORTS = {
    "subprocess",
    "multiprocessing",
    "concurrent.futures",
    "pty",
    "popen2",
    "pexpect",
    "joblib",
    "webbrowser",
}
#: Functions of os that start one.
OF_OS = {
    *("fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp", "startfile"),
    *(f"{way}{form}" for way in ("exec", "spawn") for form in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}
#: What starts a process, whatever it is reached through.
BANNED_NAMES = {
    *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell", "Popen"),
    *("ProcessPoolExecutor", "Nanny", "LocalCluster", "find_library"),
}
#: Where one of the names may stand, and why.
ALLOWED = {
    # The only one to start an interpreter.
    "runtime/child_process.py": {"subprocess", "Popen", "create_subprocess_exec"},
    # A fork that imports nothing: it waits for the end of its parent.
    "debugger/peers/child.py": {"fork"},
    # Its workers are threads (processes=False).
    "debugger/sweep/dask_cluster.py": {"LocalCluster"},
}


def started(tree: ast.AST) -> Iterator[str]:
    """Names by which a module could start a process. Imports for types alone do not count."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (
                    label.name
                    for label in names
                    if label.name in BANNED_IMPORTS or (label.name == "os" and label.asname)
                )
            case ast.ImportFrom(module=module, names=names, level=0):
                yield from [module] if module in BANNED_IMPORTS else []
                yield from (item.name for item in names if item.name in BANNED_NAMES)
                yield from (
                    name_value.name for name_value in names if module in ("os", "posix") and name_value.name in OF_OS
                )
                yield from (
                    f"{module}.{name_entry.name}"
                    for name_entry in names
                    if f"{module}.{name_entry.name}" in BANNED_IMPORTS
                )
            case ast.Attribute(value=ast.Name(id="os" | "posix"), attr=name) if name in OF_OS:
                yield name
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in BANNED_NAMES:
                yield name
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if name in BANNED_IMPORTS:
                yield name  # __import__("subprocess"), import_module("subprocess")


class _WithoutTypes(ast.NodeTransformer):
    """Drops what is there for types alone: ``if TYPE_CHECKING`` and annotations."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(value=None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def names_in(text: str) -> set[str]:
    return set(started(_WithoutTypes().visit(ast.parse(text))))


def test_one_module_starts_processes() -> None:
    results = {}
    for path in (file for folder in ("runtime", "debugger", "tui", "src/loopdbg") for file in source_files(folder)):
        names = names_in(path.read_text("utf-8"))
        if names:
            results[path.relative_to(source_checks.ROOT).as_posix()] = names
    assert results == ALLOWED


def source_files(folder: str) -> list[Path]:
    """The Python files below a folder; links to folders are not followed."""
    return [
        Path(where) / name
        for where, _, names in os.walk(source_checks.ROOT / folder)
        for name in names
        if name.endswith(".py")
    ]


def test_cython_starts_no_process() -> None:
    words = ("subprocess", "multiprocessing", "posix_spawn", "execv", "popen(", " fork(", "system(")
    paths = [
        path for pattern in ("*.pyx", "*.pxd", "*.h", "*.c") for path in (source_checks.ROOT / "runtime").rglob(pattern)
    ]
    sources = [path for path in paths if path.suffix != ".c" or not path.with_suffix(".pyx").exists()]
    assert sources
    assert [(path.name, word) for path in sources for word in words if word in path.read_text("utf-8")] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import subprocess", "subprocess"),
        ("def f():\n    from subprocess import run", "subprocess"),
        ("import os\nos.execv('x', [])", "execv"),
        ("from os import fork", "fork"),
        ("import os as system", "os"),
        ("import asyncio\nasync def f():\n    await asyncio.create_subprocess_shell('x')", "create_subprocess_shell"),
        ("from asyncio.subprocess import create_subprocess_exec", "create_subprocess_exec"),
        ("from concurrent import futures", "concurrent.futures"),
        ("from importlib import import_module\nimport_module('multiprocessing')", "multiprocessing"),
        ("import distributed\ndistributed.LocalCluster()", "LocalCluster"),
    ],
)
def test_ways_to_start_a_process_are_seen(text: str, name: str) -> None:
    assert name in names_in(text)
    assert (
        names_in("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import subprocess\nx: subprocess.Popen[bytes]") == set()
    )


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("", None),
        (":", None),
        (".", None),
        (":/opt/lib", "/opt/lib"),
        ("/opt/lib:", "/opt/lib"),
        ("lib:./lib:../lib:/opt/lib", "/opt/lib"),
        ("/opt/a:/opt/b", "/opt/a:/opt/b"),
    ],
)
def test_only_absolute_entries_of_pythonpath_stay(path: str, left: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", path.replace(":", os.pathsep))
    result = child_process.child_environment({"EXTRA": "1"})
    assert result.get("PYTHONPATH") == (None if left is None else left.replace(":", os.pathsep))
    assert result["PYTHONSAFEPATH"] == "1" and result["EXTRA"] == "1"


def test_a_child_gets_no_entry_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = str(tmp_path / "other")
    monkeypatch.setattr(sys, "path", ["", ".", "lib", str(tmp_path), other, f"{other}{os.pathsep}x"])
    command = child_process.command_calling_function("json", "loads", "[1]")
    package = str(Path(child_process.__file__).parents[2])
    assert command[:2] == [sys.executable, "-P"]
    assert command[-2:] == [os.pathsep.join((package, other)), "[1]"]


def test_child_output_and_status() -> None:
    done = child_process.run_child(
        child_process.python_command("-c", "print(input()); exit(3)"), data=b"x\n", timeout=60
    )
    assert done is not None and (done.returncode, done.stdout.split()) == (3, [b"x"])


def test_a_child_beyond_its_time_is_ended() -> None:
    code = "import signal; signal.pause()"
    assert child_process.run_child(child_process.python_command("-c", code), timeout=0.5) is None
