"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run_python_code
from loopdbg.runtime import atomic_file
from loopdbg.runtime.atomic_file import (
    atomic_binary,
    atomic_folder,
    atomic_text,
    check_writable,
    discard,
    scratch_file,
    scratch_folder,
    write_bytes,
    write_text,
)
from loopdbg.runtime.signal_deferral import defer_signals

Ends = Callable[[], object]


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def close() -> None:
    raise GeneratorExit


@pytest.mark.parametrize("end", [interrupt, full, close])
@pytest.mark.parametrize("older", [None, "older"])
@pytest.mark.parametrize("kind", [atomic_text, atomic_binary])
def test_an_exception_leaves_what_was_there(
    tmp_path: Path, end: Ends, older: str | None, kind: Callable[[Path], AbstractContextManager[Any]]
) -> None:
    path = tmp_path / "out.txt"
    if older is not None:
        path.write_text(older)
    before = sorted(tmp_path.iterdir())
    with pytest.raises((KeyboardInterrupt, OSError, GeneratorExit)), kind(path) as file:
        file.write("half" if kind is atomic_text else b"half")
        file.flush()
        end()
    assert sorted(tmp_path.iterdir()) == before
    assert older is None or path.read_text() == older


def test_a_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("older")
    with atomic_text(path) as file:
        file.write("newer")
        file.flush()
        assert path.read_text() == "older"
    assert path.read_text() == "newer"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.txt"
    before = os.umask(0o027)
    try:
        write_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640, "those that the umask gives"
        path.chmod(mode)
        write_text(path, "newer")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode, "those of the older file"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("older")
    os.chown(path, 12345, 23456)
    write_text(path, "newer")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("older")
    path.chmod(0o400)
    with pytest.raises(PermissionError) as caught:
        write_text(path, "newer")
    assert caught.value.filename == str(path)
    assert path.read_text() == "older"


@pytest.mark.parametrize("is_present", [True, False])
def test_the_target_of_a_link_is_replaced(tmp_path: Path, is_present: bool) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if is_present:
        (folder / "file").write_text("older")
    middle, link = folder / "middle", tmp_path / "link"
    middle.symlink_to("file")
    link.symlink_to("elsewhere/middle")
    write_text(link, "newer")
    assert link.is_symlink() and middle.is_symlink()
    assert (folder / "file").read_text() == "newer"
    assert sorted(os.listdir(folder)) == ["file", "middle"]


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    path, result = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: result.append(path.read_bytes()))
    reader.start()
    write_bytes(path, b"data")
    reader.join()
    assert result == [b"data"]
    assert stat.S_ISFIFO(path.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


def test_open_files_are_written_directly(tmp_path: Path) -> None:
    """What the shell has redirected is no file to replace: it may hold something already."""
    out = tmp_path / "out"
    code = """
import os
from loopdbg.runtime.atomic_file import write_text
for path in ("/dev/stdout", "/dev/fd/1", "/dev/null"):
    print(path, flush=True)
    write_text(path, "data\\n")
"""
    with out.open("wb") as file:
        number = file.fileno()
        ran = run_python_code(code, stdout=number)
    assert (ran.status, ran.err) == (0, "")
    assert out.read_text() == "/dev/stdout\ndata\n/dev/fd/1\ndata\n/dev/null\n"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("name", "number"), [("folder", errno.EISDIR), ("none/out", errno.ENOENT), ("file/out", errno.ENOTDIR)]
)
def test_errors_name_the_file(tmp_path: Path, name: str, number: int) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        write_text(tmp_path / name, "text")
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / name))
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        check_writable(tmp_path / name)
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path / name))


def test_writable_files_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("older")
    (tmp_path / "link").symlink_to("old")
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for its reader
    before = sorted(os.listdir(tmp_path))
    for name in ("new", "old", "link", "pipe", "/dev/stdout"):
        check_writable(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "old").read_text() == "older"


def test_errors_while_writing_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space") as caught, atomic_binary(tmp_path / "out"):
        full()
    assert caught.value.filename == str(tmp_path / "out")
    with pytest.raises(OSError, match="No such file") as caught, atomic_folder(tmp_path / "folder") as folder:
        (folder / "none" / "out").write_text("text")
    assert caught.value.filename == str(tmp_path / "folder" / "none" / "out")


# ------------------------------------------------------------------ folders


@pytest.mark.parametrize("end", [interrupt, full])
@pytest.mark.parametrize("is_present", [True, False])
def test_an_exception_leaves_the_folder_that_was_there(tmp_path: Path, end: Ends, is_present: bool) -> None:
    target = tmp_path / "some" / "folder"
    if is_present:
        target.mkdir(parents=True)
        (target / "a").write_text("older")
    with pytest.raises((KeyboardInterrupt, OSError)), atomic_folder(target) as folder:
        (folder / "a").write_text("newer")
        (folder / "b").write_text("newer")
        end()
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == (
        ["some", "some/folder", "some/folder/a"] if is_present else []
    )
    assert not is_present or (target / "a").read_text() == "older"


def test_a_folder_is_filled(tmp_path: Path) -> None:
    """What belongs to others stays, what has no successor goes, links are followed."""
    target, real = tmp_path / "folder", tmp_path / "real"
    for name in ("own", "data/0.pb", "data/1.pb", "data/notes", "other/0.pb"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text("older")
    real.write_text("older")
    (target / "link").symlink_to(real)
    (target / "own").chmod(0o600)
    with atomic_folder(target, obsolete=re.compile(r".*/\d+\.pb")) as folder:
        for name in ("own", "data/0.pb", "link", "fresh/deep/x"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("newer")
    results = {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert results == {
        **dict.fromkeys(("own", "data/0.pb", "link", "fresh/deep/x"), "newer"),
        **dict.fromkeys(("data/notes", "other/0.pb"), "older"),
    }
    assert real.read_text() == "newer" and (target / "link").is_symlink()
    assert stat.S_IMODE((target / "own").stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["folder", "real"]


def test_no_file_is_moved_where_one_cannot_be(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "b").mkdir(parents=True)
    (target / "a").write_text("older")
    with pytest.raises(IsADirectoryError) as caught, atomic_folder(target) as folder:
        for name in "abc":
            (folder / name).write_text("newer")
    assert caught.value.filename == str(target / "b")
    assert sorted(os.listdir(target)) == ["a", "b"] and (target / "a").read_text() == "older"


def test_signals_wait_while_files_are_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    move = os.replace

    def interrupted(*names: Any) -> None:
        interrupt()
        move(*names)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_folder(target) as folder:
        (folder / "a").write_text("a")
        (folder / "b").write_text("b")
    assert sorted(os.listdir(target)) == ["a", "b"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_held_keeps_what_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with defer_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


# ------------------------------------------------------------------ TMPDIR


def test_scratch_files_are_private_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = scratch_file(b"data")
    assert path.read_bytes() == b"data" and stat.S_IMODE(path.stat().st_mode) == 0o600
    discard(path)
    with pytest.raises(KeyboardInterrupt), scratch_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").touch()
        interrupt()
    assert os.listdir(tmp_path) == []


def test_what_an_interrupted_clean_up_left_goes_at_the_end(tmp_path: Path) -> None:
    code = f"""
import os, tempfile
tempfile.tempdir = {str(tmp_path)!r}
from loopdbg.runtime import atomic_file
def interrupted(path): raise KeyboardInterrupt
discard, atomic_file.discard = atomic_file.discard, interrupted
try:
    with atomic_file.atomic_text("{tmp_path}/out") as file:
        raise ValueError
except KeyboardInterrupt:
    print(len(os.listdir("{tmp_path}")))
atomic_file.discard = discard
"""
    assert run_python_code(code).out == "1\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    with atomic_text(tmp_path / "out") as file:
        file.write("text")
        file.flush()
        child = os.fork()
        if not child:
            atomic_file.discard_unfinished()
            os._exit(0)
        os.waitpid(child, 0)
    assert (tmp_path / "out").read_text() == "text"
