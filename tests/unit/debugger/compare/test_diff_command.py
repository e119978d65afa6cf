"""loopdbg diff: of two models, of a model and a trace, of two traces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import text_models
from cli_runner import run_cli as command
from cli_runner import save_text_model
from text_models import SAMPLES

from .newton_models import write_wrong_newton


def test_the_command_for_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "newton_sqrt.onnx"
    ran = command(capsys, "diff", source, source)
    assert ran.status == 0 and ran.out.startswith("same: ") and "5 iterations compared" in ran.out
    wrong = write_wrong_newton(tmp_path / "wrong.onnx")
    ran = command(capsys, "diff", source, wrong)
    assert ran.status == 6
    lines = ran.out.splitlines()
    assert lines[0] == "differ: newton_sqrt.onnx and wrong.onnx"
    assert lines[1:3] == [
        "    cause:",
        "      loop 'main ▸ sqrt': constant 'one_half', which the condition depends on",
    ]
    shown = "with this edit applied to newton_sqrt.onnx, the outputs are those of wrong.onnx, bit for bit (1 rerun)"
    assert lines[6] == f"      shown by: {shown}"
    assert "first difference: loop 'main ▸ sqrt', iteration 0, carried value 'x'" in ran.out
    assert "it comes from the constant 'one_half'" in ran.out and "one_half = 0.49" in ran.out
    assert "both ended by the condition after 5 iterations" in ran.out and "growth " in ran.out
    # The first screen tells it all.
    assert len(lines) < 40
    assert command(capsys, "diff", source, wrong, "--rtol", "10", "--max-iterations", "1").status == 4
    assert command(capsys, "diff", source, wrong, "--loop", "sqrt").status == 6


def test_the_json_of_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", write_wrong_newton(tmp_path / "wrong.onnx"), "--json")
    assert ran.status == 6
    report = json.loads(ran.out)
    assert report["same"] is False and report["right"] == "wrong.onnx"
    assert report["first"]["left_name"] == "x" and report["first"]["iteration"] == 0
    (loop,) = report["comparisons"][0]["loops"]
    assert loop["node"] is None and (loop["source"]["role"], loop["source"]["left_name"]) == ("constant", "one_half")
    assert loop["source"]["left"] == {"shape": [], "dtype": "float32", "value": 0.5}
    (constant,) = report["comparisons"][0]["written"]
    assert constant["kind"] == "constant" and constant["left"]["value"] == 0.5 and constant["effect"] == "cause"
    demonstration = report["comparisons"][0]["demonstration"]
    assert (demonstration["method"], demonstration["reruns"], demonstration["bit_identical"]) == ("edits", 1, True)
    assert loop["trip_difference"] is None and loop["trip_count"] == {"left": 5, "right": 5}
    assert loop["growth"]["first_beyond"] == 0 and loop["growth"]["points"][0][:2] == [0, 0]
    two = [
        save_text_model(tmp_path, text_models.COUNT.replace("Less (v_out", f"{op} (v_out"), f"{op}.onnx")
        for op in ("Less", "LessOrEqual")
    ]
    inputs = [word for text in ("M=9", "cond=true", "v0=0", "bound=4") for word in ("--input", text)]
    report = json.loads(command(capsys, "diff", *two, *inputs, "--json").out)
    trips = report["comparisons"][0]["loops"][0]["trip_difference"]
    assert (trips["left"], trips["right"], trips["left_ended"]) == (4, 5, "condition")
    same = json.loads(command(capsys, "diff", SAMPLES / "counter.onnx", SAMPLES / "counter.onnx", "--json").out)
    assert same["same"] is True and same["first"] is None


def write_ir_with_other_bin(folder: Path, name: str, source: str = "lstm") -> tuple[Path, Path]:
    """A copy of a sample IR whose constants are in a file of another name."""
    path = Path(shutil.copy(SAMPLES / f"{source}.xml", folder / f"{name}.xml"))
    return path, Path(shutil.copy(SAMPLES / f"{source}.bin", folder / f"{name}.weights"))


def test_weights_of_one_and_of_two_irs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (left, first), (right, second) = (
        write_ir_with_other_bin(tmp_path, "left"),
        write_ir_with_other_bin(tmp_path, "right"),
    )
    inputs = ("--inputs", SAMPLES / "lstm.inputs.npz")
    numbers = np.fromfile(second, np.float32)
    numbers[len(numbers) // 2] += 1  # of a matrix, which takes most of the file
    numbers.tofile(second)
    assert command(capsys, "diff", left, left, "--weights", first, "--weights", first, *inputs).status == 0
    # A's are the first.
    ran = command(capsys, "diff", left, right, "--weights", first, "--weights", second, *inputs)
    assert ran.status == 6 and "differ: left.xml and right.xml" in ran.out
    ran = command(capsys, "diff", left, right, "--weights", first, *inputs)
    assert ran.status == 1 and "right.bin, which does not exist" in ran.err
    # Of a trace and a model they are the model's.
    trace = recorded(capsys, tmp_path / "run.loopdb", left, "--weights", first, *inputs)
    assert command(capsys, "diff", trace, left, "--weights", first).status == 0


@pytest.mark.parametrize(
    ("names", "number", "message"),
    [
        (["newton_sqrt.onnx", "newton_sqrt.onnx"], 1, "no OpenVINO IR is read"),
        (["newton_sqrt.onnx", "lstm.xml"], 2, "no OpenVINO IR but {lstm.xml} is read"),
        (["loop_for.xml", "lstm.xml"], 3, "no OpenVINO IR but {loop_for.xml} and {lstm.xml} is read"),
        (["newton_sqrt.onnx", "--against=openvino"], 1, "no OpenVINO IR is read"),
    ],
)
def test_more_weights_than_irs(capsys: pytest.CaptureFixture[str], names: list[str], number: int, message: str) -> None:
    words = [word for k in range(number) for word in ("--weights", f"w{k}")]
    ran = command(capsys, "diff", *(name if name.startswith("--") else SAMPLES / name for name in names), *words)
    assert ran.status == 2
    for name in names:
        message = message.replace(f"{{{name}}}", str(SAMPLES / name))
    assert f"--weights w{number - 1}: {message}" in ran.err


def test_other_names_of_inputs_and_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left = save_text_model(tmp_path, text_models.SUM, "left.onnx")
    renamed = text_models.SUM.replace("v0", "start").replace("v_in", "before").replace("v_out", "after")
    right = save_text_model(tmp_path, renamed, "right.onnx")
    inputs = ("--input", "M=4", "--input", "v0=1.5")
    ran = command(capsys, "diff", left, right, *inputs)
    assert ran.status == 0 and "matched: v_in and before (structure)" in ran.out
    ran = command(capsys, "diff", left, right, *inputs, "--map", "v_in=before", "--map", "v0=start")
    assert ran.status == 0 and "matched: v_in and before (--map)" in ran.out


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["newton_sqrt.onnx"], 2, "diff needs two things to compare"),
        (["newton_sqrt.onnx", "counter.onnx", "--against", "onnxruntime"], 2, "leave out"),
        (["newton_sqrt.onnx", "--against", "tensorrt"], 2, "there is no peer 'tensorrt'"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--free"], 2, "--free is about a live peer"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--timeout", "3"], 2, "--timeout is about a live peer"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--rtol", "-1"], 2, "'-1' is no number from 0 on"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--rtol", "nan"], 2, "no number from 0 on"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--map", "x"], 2, "--map x: expected A=B"),
        (
            ["newton_sqrt.onnx", "newton_sqrt.onnx", "--loop", "nope"],
            2,
            "there is no loop 'nope' to compare; there are 'main ▸ sqrt'",
        ),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--map", "a=b"], 2, "--map is for two models"),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--loop", "nope"], 2, "there is no loop 'nope'"),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--timeout", "0"], 2, "more than 0 seconds"),
        (
            ["loop_for.xml", "--against", "onnxruntime"],
            2,
            "onnxruntime cannot read loop_for.xml; compare with openvino",
        ),
        (["newton_sqrt.onnx", "nowhere.onnx"], 1, "nowhere.onnx: no such file"),
        (["newton_sqrt.onnx", "counter.onnx"], 1, "newton_sqrt.inputs.npz lacks the input 'max_trips' (int64[])"),
        (["loop_infinite.xml", "loop_infinite.xml"], 4, "it would never end"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, why: str) -> None:
    words = [SAMPLES / word if word.endswith((".onnx", ".xml")) else word for word in arguments]
    ran = command(capsys, "diff", *words)
    assert ran.status == status
    messages = ran.err.splitlines()[-1]
    assert why in messages and "Traceback" not in ran.err and ran.out == ""


def test_an_endless_loop_is_compared_as_far_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    ran = command(capsys, "diff", SAMPLES / "loop_infinite.xml", SAMPLES / "loop_infinite.xml", "--max-iterations", "7")
    # A limit is no end: what comes behind it no one compared.
    assert ran.status == 4 and ran.out.startswith("same up to a limit: ")
    assert "7 iterations compared" in ran.out and "the limit that was set" in ran.out


def test_nothing_to_compare_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left = save_text_model(tmp_path, "g (float x) => (float y) { y = Neg (x) }", "left.onnx")
    right = save_text_model(
        tmp_path,
        "g (float x) => (float[2] z) { z = Expand (x, s) s = Identity (x) }".replace(
            "z = Expand (x, s) s = Identity (x)", "s = Constant <value = int64[1] {2}> () z = Expand (x, s)"
        ),
        "right.onnx",
    )
    ran = command(capsys, "diff", left, right, "--input", "x=1")
    assert ran.status == 1 and "nothing could be compared" in ran.err


def recorded(capsys: pytest.CaptureFixture[str], path: Path, *arguments: object) -> Path:
    assert command(capsys, "run", *arguments, "--record", path).status == 0
    return path


def test_a_model_and_a_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "newton_sqrt.onnx"
    trace = recorded(capsys, tmp_path / "run.loopdb", source, "--input", "a=3", "--input", "tol=1e-6")
    # The run is repeated with the inputs of the trace, not with those next to the model.
    ran = command(capsys, "diff", source, trace)
    assert ran.status == 0 and ran.out.startswith("same: newton_sqrt.onnx and ") and "2 outputs the same" in ran.out
    assert command(capsys, "diff", trace, source).status == 0
    wrong = write_wrong_newton(tmp_path / "wrong.onnx")
    # The model of a recording that comes first runs again.
    ran = command(capsys, "diff", trace, wrong)
    assert ran.status == 6 and "it comes from the constant 'one_half'" in ran.out
    ran = command(capsys, "diff", wrong, trace)
    assert ran.status == 6 and "iteration 0, carried value 'x'" in ran.out and "first node" not in ran.out
    # What the recording lacks is not guessed at: the constant is known, and the nodes' results are not.
    assert "it can be followed back to 'x_new'" in ran.out and "is not known on both sides" in ran.out
    assert "constant 'one_half'" in ran.out and "it comes from" not in ran.out
    nodes = recorded(capsys, tmp_path / "nodes.loopdb", source, "--record-nodes")
    ran = command(capsys, "diff", nodes, wrong)
    assert ran.status == 6 and "it comes from the constant 'one_half'" in ran.out
    ran = command(capsys, "diff", wrong, nodes)
    assert ran.status == 6 and "it comes from the constant 'one_half'" in ran.out


def test_two_traces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "counter.onnx"
    first = recorded(capsys, tmp_path / "one.loopdb", source)
    other = recorded(capsys, tmp_path / "other.loopdb", source, "--every", "3")
    few = recorded(capsys, tmp_path / "few.loopdb", source, "--input", "max_trips=4")
    assert command(capsys, "diff", first, first).status == 0
    ran = command(capsys, "diff", first, other)
    assert ran.status == 0 and "on one side alone" in ran.out
    ran = command(capsys, "diff", first, few)
    assert (
        ran.status == 6
        and "one.loopdb 7 (ended by the condition)" in ran.out
        and "few.loopdb 4 (ended by the trip count)" in ran.out
    )
    for words, why in (
        ((first, other, "--input", "start=1"), "is a trace, which has its inputs"),
        ((first, other, "--max-iterations", "3"), "nothing is run"),
        ((first, "--against", "onnxruntime"), "a peer can run a model only"),
    ):
        ran = command(capsys, "diff", *words)
        assert ran.status == 2 and why in ran.error_line


def test_a_nested_loop_and_its_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "loop_nested.xml"
    trace = recorded(capsys, tmp_path / "run.loopdb", source)
    ran = command(capsys, "diff", source, trace)
    assert ran.status == 0 and "36 iterations compared" in ran.out


def test_a_file_that_is_no_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.loopdb").write_bytes(b"SQLite format 3\x00" + bytes(100))
    ran = command(capsys, "diff", SAMPLES / "counter.onnx", tmp_path / "x.loopdb")
    assert ran.status == 1 and "no trace" in ran.error_line


def test_padded_output_is_compared_up_to_common_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "newton.py"
    assert command(capsys, "convert", SAMPLES / "newton_sqrt.onnx", script, "--longest", 20).status == 0
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", script, "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 0
    assert ran.out.startswith("same")
    assert "the output 'xs' of newton.py is padded to 20, and newton_sqrt.onnx has 5: the first 5 are compared" in (
        " ".join((ran.out + ran.err).split())
    )
    # The recurrence that brings the condition to kWHILE is the condition of the model.
    assert "matched: keep and condition (condition)" in ran.out and "only in" not in ran.out
    ran = command(capsys, "diff", script, SAMPLES / "newton_sqrt.onnx", "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 0 and "matched: condition and keep (condition)" in ran.out and "only in" not in ran.out
    # Space is no reason to pass over what differs.
    script.write_text(
        script.read_text(encoding="utf-8").replace(
            "(half, half_q, trt.ElementWiseOperation.SUM)", "(half, half, trt.ElementWiseOperation.SUM)"
        )
    )
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", script, "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 6
    assert ran.out.startswith("differ")


@pytest.mark.parametrize(
    "name", ["loop_while.xml", "loop_for_condition.xml", "loop_slice_concat.xml", "fibonacci.onnx"]
)
def test_converted_model_has_no_static_differences(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "converted.py"
    assert command(capsys, "convert", SAMPLES / name, script, "--longest", 20).status == 0
    ran = command(capsys, "diff", SAMPLES / name, script)
    assert ran.status == 0
    assert "written otherwise" not in ran.out
