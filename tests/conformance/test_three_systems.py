"""One loop written for ONNX, OpenVINO and TensorRT carries the same values in each, and has the same ports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.runtime.graph import System, loops
from tensorrt_round_trip import convert_and_reload, record_carried
from text_models import proto

COUNTED = """m (float[2] x0) => (float[2] x_last, float[6,2] xs) {
    M = Constant <value_int = 6> ()
    x_last, xs = Loop <body = b (int64 i, bool go, float[2] x) => (bool go_out, float[2] x_next, float[2] x_next)
        <bool go_out = {1}, float[2] half = {0.5, -0.25}, float one = {1}>
        { scaled = Mul(x, half)
          x_next = Add(scaled, one) }> (M, , x0)
}"""
INPUTS: Mapping[str, Any] = {"x0": np.array([3, -1], np.float32)}


@pytest.fixture(scope="module")
def write_three_systems(tmp_path_factory: pytest.TempPathFactory) -> dict[System, Path]:
    """The loop in a file of each system; the IR is what OpenVINO's own converter makes of the ONNX model."""
    folder = tmp_path_factory.mktemp("three")
    onnx.save(proto(COUNTED), folder / "loop.onnx")
    convert = "import sys, openvino as ov; ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], False)"
    converter = [sys.executable, "-c", convert, str(folder / "loop.onnx"), str(folder / "loop.xml")]
    subprocess.run(converter, check=True, capture_output=True)
    convert_and_reload(loopdbg.load(folder / "loop.onnx"), INPUTS, folder)
    return {
        System.ONNX: folder / "loop.onnx",
        System.OPENVINO: folder / "loop.xml",
        System.TENSORRT: folder / "network.py",
    }


def test_each_iteration_carries_the_same(write_three_systems: Mapping[System, Path]) -> None:
    expected = [INPUTS["x0"]]
    for _ in range(6):
        expected.append(expected[-1] * np.array([0.5, -0.25], np.float32) + np.float32(1))
    for system, path in write_three_systems.items():
        model = loopdbg.load(path)
        assert loops(model.graph)[0].system is system
        message, outputs = record_carried(model, INPUTS)
        ((rows),) = message.values()
        values = [next(value for value in row.values() if value.dtype == np.float32) for row in rows]
        np.testing.assert_array_equal(values, expected)
        assert outputs is not None
        np.testing.assert_array_equal(next(v for v in outputs.values() if v.ndim == 2), expected[1:])


@pytest.mark.parametrize("pair", list(combinations(System, 2)), ids=lambda pair: "-".join(pair))
def test_diff_says_so(
    write_three_systems: Mapping[System, Path],
    pair: tuple[System, System],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "x.npz", **INPUTS)
    ran = command(
        capsys, "diff", write_three_systems[pair[0]], write_three_systems[pair[1]], "--inputs", tmp_path / "x.npz"
    )
    assert "6 iterations compared, largest difference 0" in ran.out, ran


def test_explain_has_the_same_ports_in_each_systems_words(
    write_three_systems: Mapping[System, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = {
        System.ONNX: ("M", "carried", "scan"),
        System.OPENVINO: ("trip_count", "back_edge", "concat"),
        System.TENSORRT: ("TripLimit.COUNT", "IRecurrence", "kCONCATENATE"),
    }
    for system, path in write_three_systems.items():
        ran = command(capsys, "explain", path)
        for word in words[system]:
            assert word in ran.out, (system, word, ran)


def test_info_tells_the_same_ports_under_each_systems_own_names(
    write_three_systems: Mapping[System, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    messages = {}
    for system, path in write_three_systems.items():
        ran = command(capsys, "info", path, "--json")
        assert ran.status == 0, ran
        messages[system] = json.loads(ran.out)["loops"][0]["own_names"]
    shared = {"trip count", "back edges", "last-value outputs", "scan outputs"}
    assert all(shared <= set(names) for names in messages.values())
    for port in shared:
        assert len({names[port] for names in messages.values()}) == 3
    assert messages[System.TENSORRT]["back edges"] == "IRecurrenceLayer"
    assert messages[System.OPENVINO]["back edges"] == "back_edges"
    assert messages[System.ONNX]["trip count"] == "M"
