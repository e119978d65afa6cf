"""What is no regular file is refused as a target, with --force too, and stays what it is."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model
from text_models import SUM


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("needs the right to make a device")


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as result, inside(path.parent):
        result.bind(path.name)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    yield
    os.chdir(before)


@pytest.mark.parametrize("make", [device, os.mkfifo, os.mkdir, listener])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    "options", [["--record"], ["--record", "--force"], ["--output"], ["export"]], ids=lambda words: " ".join(words)
)
def test_it_stays_what_it_is(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    linked: bool,
    options: list[str],
) -> None:
    model, is_present = save_text_model(tmp_path, SUM), tmp_path / "there.npz"
    make(is_present)
    before = stat.S_IFMT(is_present.lstat().st_mode)
    target = is_present
    if linked:
        target = tmp_path / "link.npz"
        target.symlink_to(is_present)
    run = ("run", model, "--input", "M=3", "--input", "v0=1")
    if options == ["export"]:
        trace = tmp_path / "run.loopdb"
        assert run_cli(capsys, *run, "--record", trace).status == 0
        ran = run_cli(capsys, "export", trace, target)
    else:
        ran = run_cli(capsys, *run, options[0], target, *options[1:])
    assert ran.status == 2
    assert ("is a folder" if make is os.mkdir else "is no regular file; it is left as it is") in ran.error_line
    assert stat.S_IFMT(is_present.lstat().st_mode) == before
    assert target.is_symlink() == linked


def test_a_link_to_a_trace_stays_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, trace = save_text_model(tmp_path, SUM), tmp_path / "folder" / "run.loopdb"
    trace.parent.mkdir()
    link = tmp_path / "link.loopdb"
    link.symlink_to(trace)
    for count in (3, 4):
        ran = run_cli(capsys, "run", model, "--input", f"M={count}", "--input", "v0=1", "--record", link, "--force")
        assert f"recorded {count + 1} boundaries" in ran.out
    assert link.is_symlink() and [file.name for file in trace.parent.iterdir()] == ["run.loopdb"]
