"""Rooflines: the work of nodes, and what they reach of what a machine does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.profiling.measure import measure_run
from loopdbg.debugger.profiling.profile import NodeProfile, Profile
from loopdbg.debugger.profiling.roofline import (
    WEIGHT_SIZES_KIB,
    MachineLimits,
    NodeRoofline,
    NodeWork,
    group_work,
    measure_machine,
    node_work,
)
from loopdbg.runtime.graph import Operation
from text_models import SAMPLES, model

MACHINE = MachineLimits(dict.fromkeys(WEIGHT_SIZES_KIB, 1e9) | {WEIGHT_SIZES_KIB[0]: 1e10}, 1e9)
F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


def work(op_type: str, shapes: list[tuple[int, ...]], result: tuple[int, ...], **attributes: object) -> NodeWork | None:
    node = Operation("n", op_type, "", 18, [], [], attributes=attributes)
    return node_work(node, [(F32, shape) for shape in shapes], [(F32, result)])


@pytest.mark.parametrize(
    ("op_type", "shapes", "result", "attributes", "flops"),
    [
        ("MatMul", [(5, 2, 3), (3, 4)], (5, 2, 4), {}, 2 * 5 * 2 * 4 * 3),
        ("MatMul", [(3, 2), (3, 4)], (2, 4), {"transpose_a": "true"}, 2 * 2 * 4 * 3),
        ("Gemm", [(3, 2), (4, 3), (4,)], (2, 4), {"transA": 1, "transB": 1}, 2 * 2 * 4 * 3),
        ("Conv", [(1, 6, 8, 8), (4, 3, 3, 3)], (1, 4, 6, 6), {"group": 2}, 2 * 4 * 36 * 27),
        ("GroupConvolution", [(1, 6, 8, 8), (2, 2, 3, 3, 3)], (1, 4, 6, 6), {}, 2 * 4 * 36 * 27),
        ("Add", [(2, 3), (3,)], (2, 3), {}, 6),
    ],
)
def test_operations_of_a_node(
    op_type: str, shapes: list[tuple[int, ...]], result: tuple[int, ...], attributes: dict[str, object], flops: float
) -> None:
    known = work(op_type, shapes, result, **attributes)
    assert known is not None and known.flops == flops
    assert known.nbytes == 4 * sum(np.prod(shape) for shape in (*shapes, result))


def test_function_has_bytes_and_no_number_of_operations() -> None:
    assert work("Tanh", [(8,)], (8,)) == NodeWork(None, 64)


@pytest.mark.parametrize("op_type", ["Concat", "TopK", "Gather"])
def test_work_of_others_is_not_known(op_type: str) -> None:
    assert work(op_type, [(8,)], (8,)) is None


def test_only_float32_has_a_roofline() -> None:
    node = Operation("n", "MatMul", "", 18, [], [])
    assert node_work(node, [(I64, (4, 4)), (I64, (4, 4))], [(I64, (4, 4))]) is None
    assert node_work(node, [None, (F32, (4, 4))], [(F32, (4, 4))]) is None


def test_nodes_that_run_together_count_what_they_read_and_write() -> None:
    works = [NodeWork(10, 999), NodeWork(None, 999), None]
    assert group_work(works, [(F32, (10,)), (F32, (10,))]) == NodeWork(10, 80)
    assert group_work([None], [(F32, (10,))]) is None and group_work(works, [None]) is None


def test_longer_of_both_limits() -> None:
    assert MACHINE.min_seconds(NodeWork(1e6, 1000)) == pytest.approx(1e-3)
    assert MACHINE.min_seconds(NodeWork(10, 100_000)) == pytest.approx(1e-5)
    assert MACHINE.min_seconds(NodeWork(None, 1_000_000)) == pytest.approx(1e-3)
    assert MACHINE.min_seconds(NodeWork(None, 1 << 40)) == pytest.approx((1 << 40) / 1e9)
    assert MACHINE.compare(NodeWork(1e6, 1000), 2e-3) == NodeRoofline(5e8, 5e5, 0.5)


def test_this_machine_is_measured() -> None:
    machine = measure_machine()
    assert machine.flops > 1e8 and list(machine.bandwidth) == list(WEIGHT_SIZES_KIB)
    assert min(machine.bandwidth.values()) > 1e7


#: A product of growing size, as with a cache: 2 * 64 * rows operations.
GROWING = """
g (int64 M, float[1,64] q, float[N,64] cache0) => (float[K,64] cache, float[M,1,1] sums) {
    cache, sums = Loop <body = body (int64 i, bool c, float[P,64] cache_in)
        => (bool keep, float[L,64] cache_out, float[1,1] sum) {
        keep = Identity (c)
        cache_out = Concat <axis = 0> (cache_in, q)
        turned = Transpose <perm = [1, 0]> (cache_out)
        scores = MatMul (q, turned)
        sum = ReduceSum (scores)
    }> (M, , cache0)
}"""


def test_growing_product_has_the_mean_of_its_operations() -> None:
    trips = 40
    inputs = {"M": trips, "q": np.ones((1, 64), np.float32), "cache0": np.zeros((0, 64), np.float32)}
    profile = measure_run(model(GROWING), inputs, 0.05, None, MACHINE)
    (product,) = (node for node in profile.nodes if node.op_type == "MatMul")
    assert product.roofline is not None and product.roofline.flops is not None
    flops = 2 * 64 * sum(range(1, trips + 1))
    assert product.roofline.flops * product.seconds == pytest.approx(flops, rel=1e-6)
    assert all(node.roofline is None for node in profile.nodes if node.op_type == "Concat")


def test_profile_has_none_by_default() -> None:
    loaded = loopdbg.load(SAMPLES / "greedy_decoder.onnx")
    profile = loaded.profile(dict(np.load(SAMPLES / "greedy_decoder.inputs.npz")), seconds=0.05)
    assert profile.machine is None and all(node.roofline is None for node in profile.nodes)
    assert "machine" not in profile.to_json()


def test_table_has_what_nodes_reach() -> None:
    node = NodeProfile("p", "MatMul", "main", 1, 1e-3, text="y = x @ w", roofline=NodeRoofline(5e8, 2e9, 0.5))
    other = NodeProfile("c", "Concat", "main", 1, 5e-4, text="z = concat(y)")
    lines = str(Profile("m.onnx", 1, 2e-3, 2e-3, 2e-3, 0.0, (node, other), (), machine=MACHINE)).splitlines()
    assert lines[2] == (
        "  this machine: 1 GFLOP/s in products; it reads, in GB/s: 128 KB 10, 512 KB 1, 2 MB 1, 8 MB 1, 64 MB 1"
    )
    assert lines[4:] == [
        "  time  share  calls    each  GFLOP/s  GB/s  reached  node",
        "  1 ms  50.0%      1    1 ms      0.5     2      50%  MatMul: y = x @ w",
        "0.5 ms  25.0%      1  0.5 ms        -     -        -  Concat: z = concat(y)",
    ]


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = run_cli(capsys, "profile", SAMPLES / "greedy_decoder.onnx", "--seconds", 0.05, "--roofline", "--json")
    report = json.loads(ran.out)
    assert ran.status == 0 and report["machine"]["bandwidth"][0]["bytes"] == 128 * 1024
    product = next(node for node in report["nodes"] if node["op_type"] == "MatMul")
    assert product["roofline"]["flops"] > 0 and product["roofline"]["share"] > 0
