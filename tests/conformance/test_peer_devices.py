"""Peers by device, and with libraries of their own operators: a missing one is reported in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer, parse_peer
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": np.float32(2), "tol": np.float32(1e-6)}
#: What a library with operators has to offer; this one has none.
LIBRARY = "void *RegisterCustomOps(void *options, void const *api) { (void)options, (void)api; return 0; }"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("onnxruntime", ("onnxruntime", "")),
        ("onnxruntime:CUDA", ("onnxruntime", "CUDA")),
        ("openvino:HETERO:GPU,CPU", ("openvino", "HETERO:GPU,CPU")),
    ],
)
def test_names(text: str, meant: tuple[str, str]) -> None:
    assert parse_peer(text) == meant


@pytest.mark.parametrize(
    "name", ["onnxruntime:cpu", "onnxruntime:CPUExecutionProvider", "openvino:AUTO", "openvino:HETERO:CPU"]
)
def test_devices_that_are_there(name: str) -> None:
    with Peer(name, 300) as peer:
        result = compare_with_peer(loopdbg.load(NEWTON), MODEL_INPUTS, peer, ComparisonOptions())
    assert result.same
    message = result.configuration
    assert message.get("provider", message.get("device")) in ("CPUExecutionProvider", name.partition(":")[2])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("onnxruntime:Fridge", "has no provider 'Fridge' here; it has .*CPU"),
        ("openvino:NPU.7", "has no device 'NPU.7' here; it has CPU, AUTO"),
        ("openvino:HETERO:CPU,Fridge", "has no device 'Fridge' here"),
        ("openvino:", "'openvino:' names no device: write openvino, or openvino:GPU"),
        ("tensorflow:GPU", "there is no peer 'tensorflow'; peers are onnxruntime, openvino"),
    ],
)
def test_devices_that_are_not(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = command(capsys, "diff", NEWTON, "--against", name, "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 2
    assert re.search(message, ran.error_line)


def test_a_library_of_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "ops.c").write_text(LIBRARY)
    library = tmp_path / "ops.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "ops.c"], check=True)
    with Peer("onnxruntime", 300, libraries=[str(library)]) as peer:
        assert compare_with_peer(loopdbg.load(NEWTON), MODEL_INPUTS, peer, ComparisonOptions()).same

    def run(against: str, library: Path) -> str:
        options = ["--against", against, "--ort-custom-ops", library, "--input", "a=2", "--input", "tol=1e-6"]
        ran = command(capsys, "diff", NEWTON, *options)
        assert ran.status == 2
        return ran.error_line

    assert f"onnxruntime cannot load the operators of {tmp_path / 'none.so'}" in run(
        "onnxruntime", tmp_path / "none.so"
    )
    assert f"leave out '{library}'" in run("openvino", library)
