"""After going back, a Shape bound to the shapes of another iteration let its readers go by what it had given before."""

from __future__ import annotations

import numpy as np

import loopdbg
from comparable_values import all_exact_bits
from text_models import model

TEXT = """
g (int64 M, float[k0,2] v0, float[k1,2] v1, float[1,2] e) => (float[l0,2] o0, float[l1,2] o1)
  <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}> {
  o0, o1 = Loop <body = body (int64 i, bool c, float[n0,2] p0, float[n1,2] p1)
      => (bool keep, float[m0,2] r0, float[m1,2] r1) {
    keep = Identity (c)
    s = Shape (p1)
    rows = Slice (s, zero, one, zero)
    shape = Concat <axis = 0> (rows, two)
    again = Reshape (p1, shape)
    r0 = Identity (p0)
    r1 = Concat <axis = 0> (p0, e)
  }> (M, , v0, v1)
}"""


def test_each_iteration_goes_by_its_own_shape() -> None:
    m = model(TEXT)
    inputs = {
        "M": np.array(3),
        "v0": np.zeros((0, 2), np.float32),
        "v1": np.ones((2, 2), np.float32),
        "e": np.ones((1, 2), np.float32),
    }
    expected = m.run(inputs)
    session = loopdbg.debug(m, inputs)
    session.into()
    session.back()
    session.step()
    session.finish()
    session.back(3)
    assert session.frame.iteration == 0
    for rows in (2, 1):
        session.step()
        assert session.frame.values["again"].shape == (rows, 2)
    session.finish()
    session.continue_()
    assert session.outputs is not None
    assert all_exact_bits(session.outputs) == all_exact_bits(expected)
