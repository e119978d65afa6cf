"""``diff --against openvino`` of a loop whose trip count is 2^31-1, as converters write it for "no limit"."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli


@pytest.mark.parametrize("trip_count", [-1, 1000, 2**31 - 1])
def test_iterations_of_a_loop_without_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trip_count: int
) -> None:
    openvino = pytest.importorskip("openvino")
    from openvino import opset13 as ops

    count = ops.parameter([1], np.int64)
    count.set_friendly_name("n")
    inner = ops.parameter([1], np.int64)
    less = ops.add(inner, ops.constant(np.array([-1])))
    more = ops.greater(ops.reduce_sum(less, ops.constant(np.array([0])), False), ops.constant(np.int64(0)))
    condition, result = ops.result(more), ops.result(less)
    loop = ops.loop(ops.constant(np.int64(trip_count)), ops.constant(np.bool_(True)))
    loop.set_function(openvino.Model([condition, result], [inner], "body"))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(inner, count.output(0), result.output(0))
    model = openvino.Model([ops.result(loop.get_iter_value(result.output(0), -1))], [count], "m")
    path = tmp_path / "m.xml"
    openvino.serialize(model, str(path))
    ran = run_cli(capsys, "diff", path, "--against", "openvino", "--input", "n=[3]")
    assert ran.status == 0, ran.out
    assert "both ended after 3 iterations" in ran.out
