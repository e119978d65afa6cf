"""``loopdbg run``: what it prints, saves and returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import run_cli, save_text_model
from text_models import COUNT, NESTED, SAMPLES, SUM

MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def json_result(text: str) -> dict[str, Any]:
    """The one JSON object, parsed strictly, so that any reader can read it."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    results: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return results


def test_run_prints_outputs_iterations_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx")
    first, *outputs = ran.out.splitlines()
    assert ran.status == 0
    assert first.startswith("newton_sqrt.onnx: 5 iterations of 'sqrt' in ")
    assert first.endswith(" each), stopped by the condition")
    assert outputs == [
        "  root   float32 []    1.4142135",
        "  xs     float32 [5]   [1.5, 1.4166667, 1.4142157, 1.4142135, 1.4142135]",
    ]


def test_large_outputs_are_summarised(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "lstm.xml")
    assert ran.status == 0
    assert "25 iterations of 'rnn'" in ran.out
    assert "  Y   float32 [1, 25, 256]   min -0." in ran.out


def test_inner_loops_have_their_own_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = run_cli(capsys, "run", save_text_model(tmp_path, NESTED), "--input", "M=3", "--input", "K=4")
    lines = ran.out.splitlines()
    assert lines[0].startswith("model.onnx: 3 iterations of ")
    assert lines[1].startswith("  12 iterations of ")
    assert lines[1].endswith(" in 3 entries, stopped by the trip count")


def test_loop_without_iterations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = run_cli(capsys, "run", save_text_model(tmp_path, SUM), "--input", "M=0", "--input", "v0=2")
    assert "each" not in ran.out
    assert "0 iterations of" in ran.out
    assert "  s   float32 [0]   []" in ran.out


def test_model_without_a_loop_is_labelled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, "g (float[2] x) => (float[2] y) { y = Add (x, x) }")
    ran = run_cli(capsys, "run", model, "--input", "x=[1, 2.5]")
    assert ran.out.splitlines()[0].endswith("; it has no loop")
    assert "[2.0, 5.0]" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize("name", MODELS)
def test_sample_models_as_json(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ran = run_cli(capsys, "run", SAMPLES / name, "--json", "--max-iterations", 1000)
    result = json_result(ran.out)
    assert ran.status == (4 if name == "loop_infinite.xml" else 0)
    assert ran.out.count("\n") == 1
    assert set(result) == {"outputs", "loops", "seconds", "notes"}
    assert bool(result["outputs"]) == (ran.status == 0)
    for output in result["outputs"].values():
        assert set(output) - {"nan"} == {"shape", "dtype", "min", "max", "mean"}
        assert ("nan" in output) == (name == "vanishing_scale.onnx")
    for loop in result["loops"]:
        assert {"name", "path", "iterations", "stopped_by"} <= set(loop)
        assert loop["stopped_by"] in ("trip_count", "condition", "input_exhausted", "limit")


def test_json_of_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    result = json_result(run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--json").out)
    root = np.float32(1.4142135)
    assert result["outputs"]["root"] == {"shape": [], "dtype": "float32", "min": root, "max": root, "mean": root}
    assert result["loops"] == [{"name": "sqrt", "path": "main ▸ sqrt", "iterations": 5, "stopped_by": "condition"}]
    assert 0 < result["seconds"] < 60


def test_json_of_a_nested_loop_counts_its_entries(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, NESTED)
    result = json_result(run_cli(capsys, "run", model, "--json", "--input", "M=3", "--input", "K=4").out)
    outer, inner = result["loops"]
    assert (outer["iterations"], outer["stopped_by"]) == (3, "trip_count")
    assert "entries" not in outer
    assert (inner["iterations"], inner["entries"], inner["reasons"]) == (12, 3, {"trip_count": 3})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("[1, NaN, 3]", {"min": None, "max": None, "mean": None, "nan": 1}),
        ("[1, Infinity, 3]", {"min": 1, "max": None, "mean": None, "inf": 1}),
        ("[]", {"min": None, "max": None, "mean": None}),
        ("[1, 2, 6]", {"min": 1, "max": 6, "mean": 3}),
    ],
)
def test_json_stays_strict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, values: str, expected: dict[str, Any]
) -> None:
    model = save_text_model(tmp_path, "g (float[N] x) => (float[N] y) { y = Identity (x) }")
    output = json_result(run_cli(capsys, "run", model, "--json", "--input", f"x={values}").out)["outputs"]["y"]
    assert {key: output[key] for key in output if key not in ("shape", "dtype")} == expected


def test_large_integers_are_exact(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, "g (int64[2] x) => (int64[2] y) { y = Identity (x) }")
    result = json_result(run_cli(capsys, "run", model, "--json", "--input", f"x=[{2**62 + 1}, {-(2**63)}]").out)
    assert (result["outputs"]["y"]["min"], result["outputs"]["y"]["max"]) == (-(2**63), 2**62 + 1)


SEQUENCE = """g (float[2] x) => (seq(float[2]) s, string[1] t) {
    s = SequenceConstruct (x, x)
    t = Constant <value_strings = ["héllo"]> ()
}"""


def test_sequences_and_strings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, target = save_text_model(tmp_path, SEQUENCE), tmp_path / "out.npz"
    ran = run_cli(capsys, "run", model, "--input", "x=[1, 2]", "--output", target)
    assert ran.status == 0
    assert "  s        sequence of 2" in ran.out
    assert "    s[1]   float32 [2]" in ran.out
    assert '["héllo"]' in ran.out
    assert ran.err == f"note: {target}: the sequence 's' saved as s.0 to s.1\n"
    with np.load(target, allow_pickle=False) as saved:
        assert sorted(saved.files) == ["s.0", "s.1", "t"]
        assert saved["s.1"].tolist() == [1, 2]
        assert saved["t"].tolist() == ["héllo"]
    result = json_result(run_cli(capsys, "run", model, "--input", "x=[1, 2]", "--json").out)["outputs"]
    assert [element["max"] for element in result["s"]["sequence"]] == [2, 2]
    assert result["t"] == {"shape": [1], "dtype": "string", "min": None, "max": None, "mean": None}


def test_outputs_are_saved_under_their_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "y.npz"
    ran = run_cli(capsys, "run", SAMPLES / "lstm.xml", "--output", target)
    assert ran.out.count(f"→ {target}") == 3
    with np.load(target) as saved:
        assert {name: saved[name].shape for name in saved.files} == {"Y": (1, 25, 256), "H": (1, 256), "C": (1, 256)}


def test_saved_outputs_can_be_inputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """g (bfloat16[2] x, seq(float[2]) s) => (bfloat16[2] x_, seq(float[2]) s_) {
        x_ = Identity (x)
        s_ = Identity (s)
    }"""
    model, first, second = save_text_model(tmp_path, text), tmp_path / "first.npz", tmp_path / "second.npz"
    inputs = ["--input", "x=[1, 0.1]", "--input", "s=[[1, 2], [3, 4]]"]
    before = run_cli(capsys, "run", model, *inputs, "--output", first)
    with np.load(first) as saved:
        assert sorted(saved.files) == ["s_.0", "s_.1", "x_"]
        np.savez(second, **{name.replace("_", ""): saved[name] for name in saved.files})
    after = run_cli(capsys, "run", model, "--inputs", second, "--output", first)
    assert after.status == 0
    assert "[1.0, 0.1]" in after.out
    assert after.out.splitlines()[1:] == before.out.splitlines()[1:]


def test_unwritable_output_path_is_found_before_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "none" / "y.npz"):
        ran = run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--output", target)
        assert ran.status == 2
        assert str(target) in ran.error_line


def test_iteration_limit(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--max-iterations", 3)
    assert ran.status == 4
    assert "3 iterations of 'sqrt'" in ran.out and "stopped by a limit" in ran.out
    assert ran.err.splitlines()[-1] == "loopdbg: loop 'sqrt' reached the limit of 3 iterations without ending"


def test_iteration_limit_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--max-iterations", 3, "--json")
    result = json_result(ran.out)
    assert ran.status == 4
    assert result["outputs"] == {}
    assert [(loop["iterations"], loop["stopped_by"]) for loop in result["loops"]] == [(3, "limit")]


def test_provably_endless_loop_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", SAMPLES / "loop_infinite.xml", "--input", "start=0")
    assert ran.status in (1, 4)
    ran = run_cli(capsys, "run", SAMPLES / "loop_infinite.xml", "--input", "start=[0]")
    assert ran.status == 4
    assert "--max-iterations N" in ran.error_line


def test_notes_about_real_runtimes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, COUNT)
    inputs = [f"--input={text}" for text in ("M=-7", "cond=true", "v0=1", "bound=3")]
    ran = run_cli(capsys, "run", model, *inputs)
    assert ran.err.startswith("note: loop ") and "uninitialised" in ran.err
    ran = run_cli(capsys, "run", model, *inputs, "--json")
    assert ["uninitialised" in note for note in json_result(ran.out)["notes"]] == [True]
    assert ran.err == ""


def test_failing_node_is_one_line_with_its_inputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, "g (float[4] x, int64[1] i) => (float[1] y) { y = Gather (x, i) }")
    ran = run_cli(capsys, "run", model, "--input", "i=[7]")
    assert ran.status == 1
    assert "Gather" in ran.error_line
    assert ran.error_line.endswith("(inputs: made with --seed 0: x float32[4]; i as given)")
