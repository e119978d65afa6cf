"""NumPy's array interface has no word for float8_e5m2, so that cutting it was an internal error."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import loopdbg
from ir_builder import IrNetBuilder, input_map_entry, loop_sections, output_map_entry
from text_models import model

KINDS = ["float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "bfloat16", "int4", "uint4"]


@pytest.mark.parametrize("kind", KINDS)
def test_scan(kind: str) -> None:
    word = kind.replace("_", "").removesuffix("fn") if kind.startswith("float8_e4m3fn") and kind[-1] == "n" else kind
    word = {"float8_e4m3fn": "float8e4m3fn"}.get(kind, word.replace("_", ""))
    text = f"""g ({word} s0, {word}[n] x) => ({word} s, {word}[m] y) {{
      s, y = Scan <num_scan_inputs = 1, body = b ({word} a, {word} p) => ({word} a2, {word} q) {{
        a2 = Identity (p)
        q = Identity (a)
      }}> (s0, x)
    }}"""
    dtype = np.dtype(getattr(ml_dtypes, kind))
    feed = {"s0": np.zeros((), dtype), "x": np.array([1, 2, 3], dtype)}
    outputs = model(text).run(feed)
    assert outputs["s"].dtype == outputs["y"].dtype == dtype
    assert outputs["s"].astype(np.float32) == 3
    assert outputs["y"].astype(np.float32).tolist() == [0, 1, 2]
    session = loopdbg.debug(model(text), feed)
    session.continue_()
    assert session.outputs["y"].astype(np.float32).tolist() == [0, 1, 2]


def test_tensor_iterator_from_the_last_part_to_the_first(tmp_path: Path) -> None:
    net = IrNetBuilder()
    x = net.parameter("3,2", "f8e5m2", name="x")
    body = net.body_builder()
    part = body.parameter("1,2", "f8e5m2", name="part")
    same = body.result(part)
    parts = loop_sections(
        body,
        [input_map_entry(0, part, 'axis="0"'), output_map_entry(1, same, 'axis="0" start="-1" end="0" stride="-1"')],
    )
    net.result(net.layer("TensorIterator", [x], element="f8e5m2", shape="3,2", extra=parts))
    loaded = loopdbg.load(net.save(tmp_path))
    [result] = loaded.run({"x": np.array([[1, 2], [3, 4], [5, 6]], ml_dtypes.float8_e5m2)}).values()
    assert result.astype(np.float32).tolist() == [[5, 6], [3, 4], [1, 2]]
