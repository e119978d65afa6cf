"""Scan outputs of terabytes grew until the machine had no memory left, and what grew was not named; carried values that
grew ended in a traceback."""

from __future__ import annotations

import re
import resource
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model, start_cli, wait_for_exit
from optimizer_access import requires_optimizer
from text_models import model

SCAN = """g (int64 n, bool go) => (float[m,k] y) {
  y = Loop <body = b (int64 i, bool c) => (bool c2, float[k] e) {
    c2 = Identity (c)
    s = Constant <value = int64[1] {1000000}> ()
    e = ConstantOfShape (s)
  }> (n, go)
}"""
#: What a back edge carries, on the first axis and on another one.
GROWN = """g (int64 n, bool go, float[{before}a,65536] x0, float[{before}1,65536] e) => (float[{before}b,65536] y) {{
  y = Loop <body = b (int64 i, bool c, float[{before}k,65536] x) => (bool c2, float[{before}l,65536] grown) {{
    c2 = Identity (c)
    grown = Concat <axis = {axis}> (x, e)
  }}> (n, go, x0)
}}"""
#: One node each, asked for 4 TB.
NODES = {
    "ConstantOfShape": "g (int64[k] s) => (float[n] y) { y = ConstantOfShape (s) }",
    "Pad": """g (int64[k] s, float[1] x) => (float[n] y) {
      zero = Constant <value = int64[1] {0}> ()
      pads = Concat <axis = 0> (zero, s)
      y = Pad (x, pads)
    }""",
    "Range": """g (int64[k] s) => (int64[n] y) {
      shape = Constant <value = int64[1] {-1}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      end = Squeeze (s)
      y = Range (zero, end, one)
    }""",
}


def test_a_scan_output_names_its_loop_and_what_it_needs(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, SCAN)
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (3 << 29, 3 << 29))
    ran = wait_for_exit(start_cli("run", path, "--input", f"n={2**40}", "--input", "go=true", preexec_fn=limit))
    assert ran.status == 1
    assert re.search(r"loop 'Loop_0', iteration \d+: scan output 'y' .*needs .* [GM]B", ran.err), ran.err


@requires_optimizer
@pytest.mark.parametrize("axis", [0, 1])
def test_a_value_that_grows_names_its_node(tmp_path: Path, axis: int) -> None:
    path = save_text_model(tmp_path, GROWN.format(axis=axis, before="2," * axis))
    np.savez(tmp_path / "in.npz", **{name: np.zeros((*[2] * axis, 1, 65536), np.float32) for name in ("x0", "e")})
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (3 << 29, 3 << 29))
    inputs = ("--input", f"n={2**40}", "--input", "go=true", "--inputs", tmp_path / "in.npz")
    ran = wait_for_exit(start_cli("run", path, *inputs, preexec_fn=limit))
    assert ran.status == 1
    assert re.search(r"Concat .*in loop 'Loop_0', iteration \d+: .* (G|M|Gi|Mi)B", ran.err), ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("op_type", NODES)
def test_a_node_is_named(op_type: str) -> None:
    inputs = {"s": [2**40], "x": [1.0]}
    result = model(NODES[op_type])
    feeds = {port.name: inputs[port.name] for port in result.inputs}
    with pytest.raises(loopdbg.ExecutionError, match=op_type):
        result.run(feeds)
