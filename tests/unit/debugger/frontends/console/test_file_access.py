"""Which files a command may name: any at a terminal; behind a server those of one folder, or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import loopdbg
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.debugger.frontends.console.file_access import NO_ACCESS, UNRESTRICTED_ACCESS, FileAccess, folder_access
from loopdbg.runtime.errors import UsageError
from text_models import SAMPLES

#: Commands that name a file, with a placeholder for the name.
COMMANDS: dict[str, Callable[[str], str]] = {
    "save": lambda name: f"save {name}.onnx",
    "extract": lambda name: f"extract {name}",
    "plot": lambda name: f"plot x {name}.svg",
    "repro": lambda name: f"repro {name} if x > 0",
    "source": lambda name: f"source {name}",
}


@pytest.fixture
def console(tmp_path: Path) -> Console:
    session = loopdbg.debug(SAMPLES / "newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6})
    session.step(2)
    session.set("x", 1.25)
    result = Console(session, lambda line: None)
    result.file_access = NO_ACCESS
    return result


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_accesses_files_if_forbidden(console: Console, command: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{command} reads or writes files: this server may not"):
        console.execute(COMMANDS[command](str(tmp_path / "a")))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["../a", "/tmp/loopdbg-outside", "inside/../../a", "link/a"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_accesses_files_outside_the_folder(
    console: Console, command: str, name: str, tmp_path: Path
) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.mkdir()
    (allowed / "link").symlink_to(outside)
    console.file_access = FileAccess(allowed)
    with pytest.raises(UsageError, match=f"^{command}: .* is outside "):
        console.execute(COMMANDS[command](name))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["allowed", "outside"]
    assert not list(outside.iterdir())


def test_relative_name_is_in_the_folder(console: Console, tmp_path: Path) -> None:
    console.file_access = folder_access(tmp_path)
    console.execute("extract part")
    console.execute("plot x x.svg")
    (tmp_path / "lines").write_text("step\n")
    before = console.session.frame.iteration
    console.execute("source lines")
    assert console.session.frame.iteration == before + 1
    assert (tmp_path / "part").is_dir() and (tmp_path / "x.svg").is_file()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "~no-such-user/x", "~/x"])
def test_odd_names_are_refused_or_are_in_the_folder(name: str, tmp_path: Path) -> None:
    for access in (folder_access(tmp_path), UNRESTRICTED_ACCESS):
        try:
            path = access.resolve_path(name, "save")
        except UsageError as error:
            assert "is no file name" in str(error) or "cannot be the name of a file" in str(error)
        else:
            assert access is UNRESTRICTED_ACCESS or path.is_relative_to(tmp_path)


def test_programmatic_command_takes_a_text_without_line_breaks(console: Console, tmp_path: Path) -> None:
    console.file_access = UNRESTRICTED_ACCESS
    stop = console.session.stop
    for text in (f"x\nsave {tmp_path / 'a.onnx'}", "x\rstep"):
        with pytest.raises(UsageError):
            console.run_command("print", text)
    assert not list(tmp_path.iterdir()) and console.session.stop is stop
