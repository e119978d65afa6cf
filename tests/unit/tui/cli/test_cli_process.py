"""The command line as a process: Ctrl-C, closed pipes, ASCII-only terminals."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cli_runner import PACKAGE_PATH, run_cli, save_text_model, start_cli, wait_for_exit
from loopdbg.tui.cli import COMMANDS, progress
from text_models import ENDLESS, SAMPLES


def running(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A process with an endless loop running."""
    process = start_cli("run", save_text_model(folder, ENDLESS), "--input", "v0=0", *options, telling=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "running\n"
    return process


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "--help").out
    lines = text[text.index("commands:") : text.index("positional")].splitlines()
    names = {word.strip(",") for line in lines for word in line.split()[1:3]}
    assert {*COMMANDS} <= names


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_ends_the_run(tmp_path: Path, as_json: bool) -> None:
    process = running(tmp_path, *(["--json"] if as_json else []))
    process.send_signal(signal.SIGINT)
    ran = wait_for_exit(process)
    assert ran.status == 130
    assert ran.err.startswith("loopdbg: interrupted in loop ") and ran.err.count("\n") == 1
    if as_json:
        result = json.loads(ran.out)
        assert result["outputs"] == {}
        assert [loop["stopped_by"] for loop in result["loops"]] == ["interrupt"]
        assert result["loops"][0]["iterations"] > 0
    else:
        assert "stopped by an interrupt" in ran.out


def test_no_progress_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_LINE_SECONDS", 0)
    show_if_due, ticks = progress.ProgressLog.show_if_due, itertools.count(1)

    def ticked(self: progress.ProgressLog, run: Any) -> None:
        show_if_due(self, run)
        if next(ticks) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(progress.ProgressLog, "show_if_due", ticked)
    ran = run_cli(capsys, "run", save_text_model(tmp_path, ENDLESS), "--input", "v0=0")
    assert ran.status == 130
    assert ran.err.startswith("loopdbg: interrupted in loop ") and ran.err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
def test_progress_on_a_terminal(tmp_path: Path) -> None:
    master, slave = os.openpty()
    # Its state never repeats, so that the loop is not detected as endless.
    counting = """g (int64 k) => (int64 y) <bool go = {1}, int64 one = {1}> {
      y = Loop (, go, k) <body = b (int64 i, bool c, int64 h) => (bool c2, int64 more) {
        more = Add (h, one)
        c2 = Greater (more, h)
      }>
    }"""
    words = ("run", save_text_model(tmp_path, counting), "--input", "k=0")
    process = start_cli(*words, stderr=slave, environment={"NO_COLOR": "1"})
    os.close(slave)
    shown = b""
    while b" iterations of " not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    try:
        while block := os.read(master, 4096):
            shown += block
    except OSError:  # how Linux reports that the other side is closed
        pass
    os.close(master)
    wait_for_exit(process)
    lines = shown.decode().replace("\r\n", "\r").split("\r")
    drawn = [line for line in lines if " iterations of " in line]
    assert drawn and all(line.endswith("/s\x1b[K") for line in drawn)
    assert lines[-2].startswith("\x1b[Kloopdbg: interrupted in loop ")


def test_python_m_loopdbg_starts() -> None:
    assert wait_for_exit(start_cli("--version")).out.startswith("loopdbg ")
    ran = wait_for_exit(start_cli("run", "nowhere.onnx"))
    assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)


def test_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start_cli("info", SAMPLES / "lstm.xml", stdout=writer)
    os.close(writer)
    assert wait_for_exit(process)[::2] == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_reported() -> None:
    with open("/dev/full", "w") as full:
        ran = wait_for_exit(start_cli("info", SAMPLES / "lstm.xml", stdout=full.fileno()))
    assert ran.status == 1
    assert ran.err == "loopdbg: No space left on device\n"


def test_closed_standard_streams() -> None:
    command = f'exec "$PYTHON" -m loopdbg run {SAMPLES / "newton_sqrt.onnx"} >&- 2>&-'
    import sys

    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(PACKAGE_PATH)}
    assert subprocess.run(["/bin/sh", "-c", command], env=environment, check=False).returncode == 0


def test_ascii_terminal() -> None:
    environment = {"PYTHONIOENCODING": "ascii"}
    ran = wait_for_exit(start_cli("info", SAMPLES / "lstm.xml", environment=environment))
    assert ran.status == 0
    assert "at main > rnn" in ran.out and "h <- H0" in ran.out
    ran = wait_for_exit(start_cli("run", SAMPLES / "lstm.xml", "--json", environment=environment))
    assert json.loads(ran.out)["loops"][0]["path"] == "main ▸ rnn"
    ran = wait_for_exit(start_cli("run", "nöwhere▸.onnx", environment=environment))
    assert ran.err.startswith("loopdbg: n?where>.onnx: no such file")


def test_c_locale() -> None:
    environment = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran = wait_for_exit(start_cli("info", SAMPLES / "lstm.xml", environment=environment))
    assert (ran.status, ran.err) == (0, "")


def ps(*arguments: str) -> str:
    """The output of ps, with untruncated lines; without the preloaded libraries of make sanitize, with which it
    hangs."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(["ps", "-ww", *arguments], capture_output=True, encoding="utf-8", env=environment).stdout


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_peer_does_not_outlive_the_program(tmp_path: Path, how: signal.Signals) -> None:
    """OpenVINO treats the trip count -1 as no limit (B14), so it would run for ever."""
    pytest.importorskip("openvino")
    text = """g (int64 m, float v0) => (float v) {
        yes = Constant <value = bool {1}> ()
        v = Loop <body = body (int64 i, bool c, float a) => (bool keep, float b) {
            b = Cos (a)
            keep = Identity (c)
        }> (m, yes, v0)
    }"""
    words = ("--against", "openvino", "--free", "--input", "m=-1", "--input", "v0=0")
    process = start_cli("diff", save_text_model(tmp_path, text), *words)
    peers: list[str] = []
    while not peers and process.poll() is None:
        time.sleep(0.1)
        # Other children inspect the model, and end by themselves.
        children = ps("--ppid", str(process.pid), "-o", "pid=,args=").splitlines()
        peers = [line.split()[0] for line in children if "debugger.peers.child" in line]
    assert len(peers) == 1
    # Its libraries load in less time: it runs.
    while int(ps("-p", peers[0], "-o", "cputimes=")) < 2:
        time.sleep(0.1)
    process.send_signal(how)
    ran = wait_for_exit(process)
    assert ran.status == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert ran.err == ("loopdbg: interrupted\n" if how is signal.SIGINT else "")
    while ps("-p", peers[0], "-o", "stat=").strip() not in ("", "Z"):
        time.sleep(0.1)
