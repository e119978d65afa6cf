"""``diff`` of ONNX models with the PyTorch modules and programs that they were exported from."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import cli_runner
import loopdbg
from loopdbg.runtime.graph import walk
from text_models import SAMPLES


def test_a_file_of_torch_needs_torch(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = SAMPLES / "newton_sqrt.onnx"
    ran = cli_runner.run_cli(capsys, "diff", model, "--against", f"torch:{tmp_path}/program.pt2")
    assert ran.status == 2
    assert ran.error_line.endswith("torch, which is not installed: pip install 'loopdbg[torch]'")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("tensorflow", "there is no peer 'tensorflow'; peers are onnxruntime, openvino, torch:FILE.pt2"),
        ("torch", "there is no peer 'torch'; peers are onnxruntime, openvino, torch:FILE.pt2"),
        ("torch:", "there is no peer 'torch'; peers are onnxruntime, openvino, torch:FILE.pt2"),
        ("onnxruntime:", "'onnxruntime:' names no device: write onnxruntime, or onnxruntime:CUDA"),
    ],
)
def test_what_is_no_peer(capsys, word, text):
    ran = cli_runner.run_cli(capsys, "diff", SAMPLES / "newton_sqrt.onnx", "--against", word)
    assert ran.status == 2
    assert text in ran.err


def test_a_program_is_trusted_as_scripts_are(capsys, monkeypatch):
    monkeypatch.setenv("CI", "true")
    ran = cli_runner.run_cli(capsys, "diff", SAMPLES / "newton_sqrt.onnx", "--against", "torch:program.pt2")
    assert ran.status == 2
    assert ran.error_line == ("program.pt2 is a PyTorch program, which can do what you can: --trust-script lets it run")


torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'loopdbg[torch]'")
pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript: pip install 'loopdbg[real]'")

import torch_mutants  # noqa: E402
from loopdbg.debugger.reference.torch_export import export_module  # noqa: E402
from torch_modules import CASES  # noqa: E402


@pytest.fixture(scope="module", params=["nested", "branches", "written", "picking", "layers"])
def case(request) -> torch_mutants.BuiltTorchModel:
    return torch_mutants.build_model(request.param)


def test_a_model_is_the_same_as_its_module(case):
    result = torch_mutants.compare_with_module(loopdbg.load(case.path), case)
    assert result.same
    assert sum(loop.compared_values for loop in result.loops) > 20


def test_every_node_of_a_body_that_has_a_line_is_compared_with_a_track_of_that_line(case):
    model = loopdbg.load(case.path)
    sources = {track.source for track in case.reference.tracks}
    lines = {f"{node.origin.file}:{node.origin.line}" for node in walk(model.graph) if node.origin.file}
    assert lines
    assert lines <= sources


@pytest.mark.parametrize("kind", ["operator", "inputs", "constant"])
def test_a_changed_node_is_named_with_its_line(case, kind):
    lines = {torch_mutants.judge_case(f"{case.path.stem} {kind} {number}").partition(":")[0] for number in range(3)}
    assert lines <= {"exact", "among", "unseen"}
    assert lines != {"unseen"}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path, Path]:
    """The model, the program in a file, and the inputs."""
    folder = tmp_path_factory.mktemp("torch")
    case = torch_mutants.build_model("nested")
    program = export_module(CASES["nested"].module(), tuple(CASES["nested"].inputs().values()))
    torch.export.save(program, folder / "nested.pt2")
    np.savez(folder / "inputs.npz", **case.inputs)
    return case.path, folder / "nested.pt2", folder / "inputs.npz"


def test_a_model_and_a_program_in_a_file(capsys, files):
    model, program, inputs = files
    ran = cli_runner.run_cli(capsys, "diff", model, "--against", f"torch:{program}", "--inputs", inputs, "--json")
    assert ran.status == 0
    report = json.loads(ran.out)
    assert (report["same"], report["right"]) == (True, "nested.pt2")
    assert report["comparisons"][0]["loops"][0]["matched_by"] == "metadata"


def test_a_program_and_a_limit_of_iterations(capsys, files):
    model, program, inputs = files
    words = ("--inputs", inputs, "--max-iterations", "1")
    ran = cli_runner.run_cli(capsys, "diff", model, "--against", f"torch:{program}", *words)
    assert (ran.status, ran.out.splitlines()[0]) == (4, f"same up to a limit: {model.name} and nested.pt2")


def test_options_of_live_runtimes_are_refused(capsys, files):
    model, program, _ = files
    ran = cli_runner.run_cli(capsys, "diff", model, "--against", f"torch:{program}", "--free")
    assert ran.error_line == "--free is about a live runtime, and torch:FILE is a program"


def test_a_module_is_compared_from_python():
    case = CASES["nested"]
    result = loopdbg.diff(torch_mutants.build_model("nested").path, case.module(), case.arrays())
    assert result.same
