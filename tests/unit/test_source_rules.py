"""What holds for the whole of the source."""

from __future__ import annotations

import re
from pathlib import Path

import source_checks
from loopdbg.debugger.portability.known_differences import KNOWN_DIFFERENCES


def test_no_file_imports_one_that_imports_it() -> None:
    """Imports within functions and those for types alone count, and what a Cython module cimports."""
    assert [sorted(circle) for circle in source_checks.import_cycles(source_checks.import_graph())] == []


def test_imports_of_every_kind_are_seen() -> None:
    result = source_checks.import_graph()
    assert "runtime/ops/registry" in result["runtime/plan/plan"]
    assert "runtime/frontends" in result["runtime/model"], "within a function"
    assert "runtime/engine/engine" in result["runtime/model"], "for types"
    assert "tui/cli/terminal" in result["tui/cli/commands/export"], "from . import"
    assert "runtime/engine/baseline/state" in result["runtime/engine/baseline/memory"], "cimport"


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": set[str]()}
    assert source_checks.import_cycles(graph) == {frozenset("bc")}


def test_every_test_asserts_something() -> None:
    assert list(source_checks.AssertionIndex().tests_without_assertions()) == []


def test_compiler_specific_keywords_are_in_one_header() -> None:
    """GCC and Clang both build the extension modules."""
    word = re.compile(r'__builtin_shuffle|cpu_supports\("f16c"\)|GCC ivdep')
    headers = (source_checks.ROOT / "runtime").rglob("*.[ch]")
    assert [path.name for path in headers if word.search(path.read_text("utf-8"))] == ["processor.h"]


def test_sections_that_are_cited_exist() -> None:
    """A docstring says where the meaning is written; ``docs/semantics.md 2.4 and 7``."""
    docs = source_checks.ROOT / "docs"
    sections = set(re.findall(r"^#+ (\d+(?:\.\d+)?)[. ]", (docs / "semantics.md").read_text("utf-8"), re.MULTILINE))
    rules = set(KNOWN_DIFFERENCES)
    cited: set[str] = set()
    for path in source_checks.source_files("runtime", "debugger", "tui", "tests"):
        for item in re.findall(r"docs/semantics\.md (\d[\d., ]*(?:(?:and|to) [\d.]+)?)", path.read_text("utf-8")):
            cited.update(re.findall(r"\d+(?:\.\d+)?", item))
        assert set(re.findall(r"docs/check\.md ([BST]\d+)", path.read_text("utf-8"))) <= rules
    assert len(cited) > 10
    assert cited <= sections


#: What else may write: where, the call, and why it cannot leave half a file under a name that someone gave.
OTHER_WRITERS = {
    ("runtime/modelfile/scratch_folder.py", "path: tempfile.TemporaryDirectory"): "a scratch folder",
    ("runtime/modelfile/scratch_folder.py", "append_array: (self.path / DATA_FILE).open"): "a scratch folder",
    ("runtime/in_memory_models.py", "_graph_from_openvino: openvino.serialize"): "into a scratch_folder",
    ("tui/cli/stdin_model.py", "_spool_stream: raw.rename"): "within a scratch_folder",
    ("tui/cli/stdin_model.py", "_reopen_terminal_stdin: os.open"): "a terminal",
    ("tui/cli/terminal.py", "prepare_streams: open"): "nowhere",
    ("tui/cli/terminal.py", "_redirect_to_null: os.open"): "nowhere",
    ("debugger/peers/child.py", "main: os.fdopen"): "a pipe",
    ("debugger/peers/child.py", "kill_group_with_parent: os.open"): "nowhere",
    (
        "debugger/export_formats/npz.py",
        "write_stacked: self._archive.open",
    ): "a member of an archive that is written atomically",
    (
        "debugger/export_formats/npz.py",
        "write_npz_member: archive.open",
    ): "a member of an archive that is written atomically",
    (
        "debugger/reference/reference_files.py",
        "write_reference_file: archive.open",
    ): "a member of an archive that is written atomically",
    ("debugger/plots/figures.py", "savefig: super().savefig"): "wherever its caller says",
    ("debugger/plots/figures.py", "_repr_png_: self.savefig"): "into memory",
    ("debugger/sweep/worker_main.py", "main: os.fdopen"): "a pipe",
    ("debugger/sweep/worker_main.py", "__init__: open"): "memory that is shared by way of a scratch_file",
    ("debugger/fuzz/last_inputs.py", "__init__: open"): "memory that is shared by way of a scratch_file",
    ("tui/cli/commands/dap.py", "_serve_streams: os.fdopen"): "a pipe",
    ("debugger/trace/lock.py", "__init__: os.open"): "a lock has nothing in it",
    ("debugger/trace/lock.py", "close: os.unlink"): "a lock has nothing in it",
    ("debugger/trace/writer.py", "_open: sqlite3.connect"): "transactions of SQLite",
    ("debugger/trace/writer.py", "create_trace: sqlite3.connect"): "at an unfinished_path",
    ("debugger/trace/database.py", "_connect: sqlite3.connect"): "transactions of SQLite",
    ("debugger/sweep/sweep_store.py", "is_sweep_file: sqlite3.connect"): "read only",
    ("debugger/sweep/sweep_store.py", "create: sqlite3.connect"): "at an unfinished_path",
    ("debugger/sweep/sweep_store.py", "_open_database: sqlite3.connect"): "transactions of SQLite",
}


def test_files_are_written_by_one_module() -> None:
    """Whatever ends the program then leaves older files whole; see ``runtime/atomic_file.py``."""
    results = {
        (path.relative_to(source_checks.ROOT).as_posix(), call)
        for path in source_checks.source_files("runtime", "debugger", "tui")
        if path.suffix == ".py" and path != source_checks.ROOT / source_checks.ATOMIC_FILE_MODULE
        for call in source_checks.file_writes(path)
    }
    assert results == set(OTHER_WRITERS)


def test_what_writes_files_is_found(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "from ..runtime.atomic_file import atomic_binary, write_bytes\n"
        "open(p, 'w'); open(p, mode='r+b'); p.open('xb'); open(p); p.open('rb'); open(p, encoding='ascii')\n"
        "def f():\n    p.write_text(t); p.rename(q); p.replace(q); t.replace('a', 'b'); replace(data, x=1)\n"
        "np.savez(p); zipfile.ZipFile(p, 'w'); zipfile.ZipFile(p); os.open(p, os.O_RDWR); os.open(p, os.O_RDONLY)\n"
        "with atomic_binary(p) as file:\n    np.savez(file); write_bytes(p, b''); p.write_bytes(b'')\n"
    )
    expected = [
        "open",
        "open",
        "p.open",
        "f: p.write_text",
        "f: p.rename",
        "f: p.replace",
        "np.savez",
        "zipfile.ZipFile",
    ]
    assert sorted(source_checks.file_writes(path)) == sorted([*expected, "os.open", "p.write_bytes"])


SILENT = """
import pytest, ways
from helpers import careful, careless
from .sibling import strict

def again(n):
    return again(n - 1)

def test_none(): print(careless())
def test_for_ever(): again(3)
def test_of_another_module(): ways.careful()
def test_itself(): assert True
def test_raises():
    with pytest.raises(ValueError):
        int("a")
def test_helper(): careful()
def test_helper_beside(): strict()
"""


def test_tests_that_assert_nothing_are_found(tmp_path: Path) -> None:
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit" / "test_some.py").write_text(SILENT)
    (tmp_path / "unit" / "sibling.py").write_text("def strict():\n    raise AssertionError\n")
    (tmp_path / "helpers.py").write_text(
        "def careful():\n    check()\ndef careless(): ...\ndef check():\n    assert 1\n"
    )
    (tmp_path / "ways.py").write_text("def careful(): ...\n")
    results = [name.partition("::")[2] for name in source_checks.AssertionIndex(tmp_path).tests_without_assertions()]
    assert results == ["test_none", "test_for_ever", "test_of_another_module"]


def test_command_line_options_are_only_in_tui() -> None:
    """What the layers below say of options is stated by the front end that has them."""
    texts = {path: path.read_text(encoding="utf-8") for path in source_checks.source_files("runtime", "debugger")}
    words = re.compile(r"--[a-z]\w*|loopdbg (run|diff|info|explain|export|MODEL)\b")
    assert [(path.name, result[0]) for path, text in texts.items() if (result := words.search(text))] == []
