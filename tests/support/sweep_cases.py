"""Models and cases for tests of sweeps, and comparable rows."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import loopdbg
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
#: Random inputs give a negative tolerance, with which the loop of this sample never ends.
MAX_ITERATIONS = 100

#: A loop that multiplies, after an operator that crashes, hangs or returns its input.
TRICKY_MODEL = """
<ir_version: 10, opset_import: ["" : 21, "test" : 1]>
g (float x, float y, int64 trips) => (float h_last, float[n] hs) {
  first = test.Odd (x)
  cond = Constant <value: tensor = bool {1}> ()
  h_last, hs = Loop (trips, cond, first) <body = b (int64 i, bool c, float h) => (bool co, float h2, float s) {
    co = Identity (c)
    h2 = Mul (h, y)
    s = Identity (h2)
  }>
}
"""

OPERATORS = """
import ctypes, time
import loopdbg

@loopdbg.operator("test", "Odd")
def odd(x):
    if x[()] == 7:
        ctypes.string_at(0)
    if x[()] == 8:
        time.sleep(1000)
    return x
"""

CASES: Mapping[str, tuple[float, float, int]] = {
    "a_good": (1, 0.5, 5),
    "b_crashes": (7, 0.5, 5),
    "c_good": (2, 0.5, 5),
    "d_hangs": (8, 0.5, 5),
    "e_endless": (1, 0.5, 2**62),
    "f_overflows": (1, 1e30, 5),
    "g_good": (3, 0.5, 5),
    "h_negative": (-1, 0.5, 5),
}
EXPECTED_STATUSES = {
    "a_good": "ok",
    "b_crashes": "killed",
    "c_good": "ok",
    "d_hangs": "timeout",
    "e_endless": "limit",
    "f_overflows": "break",
    "g_good": "ok",
    "h_negative": "assert",
    "i_lacks": "error",
}


def write_tricky_cases(folder: Path) -> tuple[Path, Path, Path]:
    """Write a model, its operators, and a folder with a case of each kind."""
    model, operators, cases = folder / "tricky.onnx", folder / "operators.py", folder / "cases"
    onnx.save(onnx.parser.parse_model(TRICKY_MODEL), model)
    operators.write_text(OPERATORS)
    cases.mkdir()
    for name, (x, y, trips) in CASES.items():
        np.savez(cases / f"{name}.npz", x=np.float32(x), y=np.float32(y), trips=np.int64(trips))
    np.savez(cases / "i_lacks.npz", x=np.float32(1))
    return model, operators, cases


def comparable_rows(rows: Iterable[loopdbg.Row]) -> list[tuple[Any, ...]]:
    """Rows without their times, in order. SQLite stores NaN as NULL."""
    messages = [
        (
            *(row.id, row.loop, row.seed, row.iterations, row.stopped_by, row.status.value, row.bad_iteration),
            *(row.bad_node, row.message, row.outputs),
            tuple((name, None if value != value else value) for name, value in row.measures.items()),
            row.versions,
        )
        for row in rows
    ]
    return sorted(messages, key=repr)


def count_rows(path: Path) -> int:
    """The number of rows in a file that another process writes."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT count(*) FROM results").fetchone()[0])
    return 0
