"""Scan cuts tensors of strings like any others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from text_models import model

# Each iteration carries on the part that it got and collects it.
SCAN = """
g (string[n{rest}] x, string{shape} s0) => (string{shape} s, string[n{rest}] y) {{
  s, y = Scan <num_scan_inputs = 1,
    body = b (string{shape} before, string{shape} part) => (string{shape} after, string{shape} out) {{
      after = Identity (part)
      out = Identity (before)
    }}> (s0, x)
}}
"""


@pytest.mark.parametrize("shape", ["", "[2]"])
def test_parts_of_strings(shape: str) -> None:
    m = model(SCAN.format(shape=shape, rest="" if not shape else ",2"))
    pairs: Any = np.array([["a", "b"], ["c", "d"], ["e", "f"]], object)
    x = pairs if shape else pairs[:, 0].copy()
    start: Any = np.full((2,) if shape else (), "", object)
    feed = {"x": x, "s0": start}
    session = loopdbg.debug(m, feed)
    parts = []
    while session.frame is not None and session.frame.stopped_by is None:
        parts.append(session.frame.values["part"].tolist())
        session.step()
    session.continue_()
    assert parts == x.tolist()
    for outputs in (m.run(feed), m.run(feed), session.outputs):
        assert outputs["s"].tolist() == x[-1:].reshape(start.shape).tolist()
        assert outputs["y"].tolist() == [start.tolist(), *x[:-1].tolist()]


def test_going_back_over_strings() -> None:
    m = model(SCAN.format(shape="", rest=""))
    session = loopdbg.debug(m, {"x": np.array(["a", "b", "c"], object), "s0": np.array("", object)})
    for _ in range(2):
        session.step()
    session.back()
    assert session.frame.values["part"].item() == "b"
    session.continue_()
    assert session.outputs["y"].tolist() == ["", "a", "b"]
