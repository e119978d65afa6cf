"""A full disk keeps what was recorded before, what is reported of it is true, and the run can go on from there.

A limit on the size of files represents the disk.
"""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import CliResult, save_text_model, start_cli, wait_for_exit

MODEL = """
g (double[4] x0) => (double[4] x, double[N, 4] rows) {
  n = Constant <value = int64 {20000}> ()
  x, rows = Loop (n, , x0) <body = b (int64 i, bool c, double[4] a) => (bool c2, double[4] b, double[4] r) {
    c2 = Identity (c)
    k = Constant <value = double {0.999}> ()
    d = Constant <value = double {0.1}> ()
    r = Mul (a, k)
    b = Add (r, d)
  }>
}
"""


def command(*arguments: object, file_kb: int = 0) -> CliResult:
    def limit() -> None:
        if file_kb:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_kb * 1024,) * 2)

    return wait_for_exit(start_cli(*arguments, preexec_fn=limit), 120)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("kilobytes", [600, 1500])
def test_what_was_written_stays(tmp_path: Path, every: int, kilobytes: int) -> None:
    path, trace = save_text_model(tmp_path, MODEL), tmp_path / "run.loopdb"
    recording = ("--input", "x0=[1,2,3,4]", "--record", trace, "--every", every)
    ran = command("run", path, *recording, "--json", file_kb=kilobytes)
    assert ran.status == 1
    match = re.search(r"recording stopped: .*; the first (\d+) boundaries are in the file; --resume", ran.err)
    assert match is not None, ran.err
    with loopdbg.Trace.open(trace) as opened:
        iterations = [boundary.iteration for boundary in opened.boundaries()]
    assert iterations == list(range(0, every * len(iterations), every))
    # All but the last second, and of so short a run more than a third of what fits.
    assert len(iterations) > kilobytes * 1024 / 3 / 270
    assert int(match[1]) == json.loads(ran.out)["recorded"]["boundaries"] == len(iterations)

    assert command("run", path, "--resume", trace, "--record", trace, "--output", tmp_path / "on.npz").status == 0
    whole = loopdbg.load(path).run({"x0": [1.0, 2.0, 3.0, 4.0]})
    with np.load(tmp_path / "on.npz") as outputs:
        assert all(outputs[name].tobytes() == np.asarray(value).tobytes() for name, value in whole.items())
    with loopdbg.Trace.open(trace) as opened:
        recorded = [boundary.iteration for boundary in opened.boundaries()]
    assert recorded == sorted({*range(0, 20_001, every), 20_000})
