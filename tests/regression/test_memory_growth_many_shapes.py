"""A Model that sees ever new shapes does not grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_python_code, save_text_model
from loopdbg.runtime.model import MAX_SHAPES_PER_ENGINE
from text_models import model

GROWING = """
g (float[n,k] x) => (float[n,k] y, float[a,b] z) {
  four = Constant <value = int64 {4}> ()
  yes = Constant <value = bool {1}> ()
  y, z = Loop (four, yes, x, x)
    <body = b (int64 i, bool c, float[n,k] q, float[c,d] w) => (bool c2, float[n,k] q2, float[e,f] w2) {
    c2 = Identity (c)
    one = Constant <value = float {1}> ()
    q2 = Add (q, one)
    w2 = Concat <axis = 0> (w, x)
  }>
}
"""


def test_shapes_are_forgotten() -> None:
    m = model(GROWING)
    met = []
    for rows, columns in np.random.default_rng(0).integers(1, 60, (900, 2)):
        outputs = m.run({"x": np.ones((rows, columns), np.float32)})
        assert outputs["z"].shape == (5 * rows, columns)
        met.append(0 if m._engine is None else m._engine.spec_count)
    assert max(met) <= MAX_SHAPES_PER_ENGINE
    assert min(met[100:]) < MAX_SHAPES_PER_ENGINE // 4  # it began again


#: In a process of its own, where no other test's memory comes and goes. Prints resident megabytes after each fifth.
_TEN_THOUSAND_SHAPES = """
import sys
import numpy as np
import loopdbg


def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


model = loopdbg.load(sys.argv[1])
model.run({"x": np.ones((100, 100), np.float32)})
shapes = np.random.default_rng(0).permutation([(a, b) for a in range(1, 101) for b in range(1, 101)])
for fifth in shapes.reshape(5, -1, 2):
    for rows, columns in fifth:
        model.run({"x": np.ones((rows, columns), np.float32)})
    print(megabytes())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_stays(tmp_path: Path) -> None:
    ran = run_python_code(_TEN_THOUSAND_SHAPES, save_text_model(tmp_path, GROWING), seconds=600)
    assert ran.status == 0, ran.err
    used = [float(line) for line in ran.out.split()]
    assert used[-1] - used[0] < 5
