"""Resource limits of an endless case that runs in this process, where no other process can end it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command
from cli_runner import save_text_model
from loopdbg.debugger.sweep import case_limits, watchdog
from text_models import model as load_text_model

#: A loop that collects what it carries; it reads its iteration number, so it is not detected as endless.
COLLECTING = """g (float x, int64 trips) => (float h, float[n] hs) {
  go = Constant <value: tensor = bool {1}> ()
  h, hs = Loop (trips, go, x) <body = b (int64 i, bool c, float a) => (bool co, float a2, float s) {
    co = Identity (c)
    f = Cast <to = 1> (i)
    a2 = Add (a, f)
    s = Identity (a2)
  }>
}"""
CASES = [{"x": np.float32(k), "trips": np.int64(2**62 if k == 1 else 5)} for k in range(3)]
MOST = 32 << 20


@pytest.mark.parametrize("asked", [{}, {"measures": ["a@0 + a"]}, {"asserts": ["a >= 0"]}], ids=str)
def test_endless_collecting_case_stays_within_its_limit(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    look = case_limits.resident_bytes

    def seen() -> int:
        held.append(look())
        return held[-1]

    monkeypatch.setattr(case_limits, "resident_bytes", seen)
    rows = list(loopdbg.sweep(load_text_model(COLLECTING), CASES, timeout=None, max_memory=MOST, **asked))
    assert [row.status.value for row in rows] == ["ok", "limit", "ok"]
    _, endless, _ = rows
    assert (endless.iterations, endless.stopped_by, endless.outputs) == (None, "limit", "")
    assert endless.message is not None
    assert endless.message.startswith("took more than 32 MB of memory without ending, in loop '")
    assert MOST <= max(held) - min(held) < 16 * MOST


def test_case_is_limited_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a machine with 2 GB of memory."""
    taken = iter(range(0, 1 << 50, 2 << 30))
    monkeypatch.setattr(case_limits, "resident_bytes", lambda: next(taken))
    (row,) = loopdbg.sweep(load_text_model(COLLECTING), CASES[1:2])
    assert row.message is not None and row.message.startswith("took more than 2 GB of memory")


def test_command_line_has_the_same_limit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "endless.npz", **CASES[1])
    words = (
        "sweep",
        save_text_model(tmp_path, COLLECTING),
        "--inputs",
        tmp_path,
        "-j",
        1,
        "--max-memory",
        MOST / 2**30,
    )
    ran = command(capsys, *words)
    assert ran.status == 4 and "took more than 32 MB of memory without ending" in ran.out


def test_ctrl_c_ends_the_sweep_not_only_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    tick: Callable[[watchdog.Watchdog], None] = watchdog.Watchdog.tick

    def pressed(self: watchdog.Watchdog) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        tick(self)

    monkeypatch.setattr(watchdog.Watchdog, "tick", pressed)
    with pytest.raises(KeyboardInterrupt):
        list(loopdbg.sweep(load_text_model(COLLECTING), CASES, timeout=None))
