"""``loopdbg explain``: ports in three vocabularies, pseudo-code, and what ends a loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import loopdbg as package
from cli_runner import run_cli, save_text_model
from loopdbg.debugger.describe.explain import Explanation, explain
from loopdbg.debugger.describe.pseudo_code import build_pseudo_code
from loopdbg.runtime.graph import System
from text_models import COUNT, NESTED, SAMPLES, SUM, model

MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def sample(name: str, system: System | None = None) -> Explanation:
    """The outermost loop of a sample model."""
    return explain(package.load(SAMPLES / name), system)[0]


def ends(text: str, opset: int = 21) -> str:
    """What ends the outermost loop of a model in ONNX text form."""
    return " ".join(explain(model(text, opset))[0].ends)


def rows(explanation: Explanation, title: str) -> list[tuple[str, str]]:
    """The rows of a section."""
    return [row for section in explanation.terms.sections if section.title == title for row in section.rows]


@pytest.mark.parametrize("system", ["", *System])
@pytest.mark.parametrize("name", MODELS)
def test_every_sample_model_in_every_vocabulary(capsys: pytest.CaptureFixture[str], name: str, system: str) -> None:
    asked = ["--as", system] if system else []
    ran = run_cli(capsys, "explain", SAMPLES / name, *asked)
    assert (ran.status, ran.err) == (0, "")
    loaded = package.load(SAMPLES / name)
    result = explain(loaded, System(system) if system else None)
    whole = build_pseudo_code(loaded.graph)
    for item in result:
        assert item.title in ran.out.splitlines()
        for line in whole.lines_of_loop(item.loop).text():
            assert f"  {line}" in ran.out.splitlines()
        assert item.ends and all(text.endswith(".") for text in item.ends)
    report = json.loads(run_cli(capsys, "explain", SAMPLES / name, "--json", *asked).out)
    assert [entry["path"] for entry in report["loops"]] == [element.path for element in result]
    assert report["as"] == (system or report["system"])
    assert [line["text"] for line in report["source"]] == [line.text for line in whole.lines]


NEWTON = """\
Loop 'sqrt' (ONNX Loop, opset 16) at main
  inputs      M = "" (absent: no limit)   input 0
              cond = keep0                input 1
  body        i : int64[]        body input 0, the iteration number
              keep_in : bool[]   body input 1, the condition
              keep               body output 0, the condition
  carried     x : float32[]     input 2 x0 → body input 2; body output 1 x_new → output 0 root
              err : float32[]   input 3 err0 → body input 3; body output 2 err_new → output 1 last_err
  scan        xs : float32[n]   body output 3 x_new → output 2, stacked on a new axis 0
  captures    a : float32[]     from main
              tol : float32[]   from main

  x = x0                # initial value
  err = err0            # initial value
  keep = keep0          # initial condition
  while keep:           # while loop
      half = x * 0.5
      q = a / x
      half_q = q * 0.5
      x_new = half + half_q
      change = x_new - x
      err_new = abs(change)
      keep = err_new > tol
      xs.append(x_new)  # scan output, new axis 0
      x = x_new         # back edge
      err = err_new     # back edge
  root = x              # last value
  last_err = err        # last value

  ends        When keep = err_new > tol is false; there is no trip count. The iteration that yields
              false still counts. Nothing runs where keep0 is false.
"""


def test_while_loop_in_its_own_vocabulary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(capsys, "explain", SAMPLES / "newton_sqrt.onnx").out == NEWTON


def test_while_loop_as_openvino() -> None:
    result = sample("newton_sqrt.onnx", System.OPENVINO)
    assert result.title == "Loop 'sqrt' (ONNX Loop, opset 16) at main, as OpenVINO Loop-5"
    assert rows(result, "inputs") == [
        ("trip_count = -1 (no limit)", "input 0"),
        ("execution_condition = keep0", "input 1"),
    ]
    assert ("input 2 x0 → x", "merged") in rows(result, "port_map")
    assert ("output -1 ← keep", 'purpose="execution_condition"') in rows(result, "port_map")
    assert ("output 2 xs ← x_new", "axis=0") in rows(result, "port_map")
    assert rows(result, "back_edges") == [("x_new → x", "float32[]"), ("err_new → err", "float32[]")]
    assert any("Unsqueeze x_new at axis 0" in text for text in result.terms.requirements)
    assert result.terms.unsupported == []


def test_while_loop_as_tensorrt() -> None:
    result = sample("newton_sqrt.onnx", System.TENSORRT)
    assert rows(result, "limits") == [
        ("ITripLimit kWHILE = the recurrence of keep", "TripLimit.WHILE in Python; tested before each iteration")
    ]
    assert ("IRecurrence keep_in", "keep0, then keep") in rows(result, "recurrences")
    assert ("ILoopOutput kLAST_VALUE root", "of x") in rows(result, "outputs")
    assert ("ILoopOutput kCONCATENATE xs", "of x_new, axis 0, length an upper bound") in rows(result, "outputs")
    assert any(text.startswith("kWHILE decides before an iteration") for text in result.terms.requirements)


def test_tensor_iterator_in_three_vocabularies() -> None:
    own = sample("reverse_sum.xml")
    assert ("input 0 x → row", "axis=0 start=-1 end=0 stride=-1 part_size=1") in rows(own, "port_map")
    assert ("output 2 suffix_sums ← add_row", "axis=0 stride=-1") in rows(own, "port_map")
    scan = sample("reverse_sum.xml", System.ONNX)
    assert scan.terms.operator_name == "ONNX Scan"
    assert rows(scan, "inputs") == [("row : float32[1,2]", "input 1 x → body input 1, axis 0, backward")]
    assert any("Unsqueeze: row" in text for text in scan.terms.requirements)
    tensorrt = sample("reverse_sum.xml", System.TENSORRT)
    assert rows(tensorrt, "iterators") == [("IIterator row : float32[1,2]", "x, axis 0, reverse")]
    assert rows(tensorrt, "outputs")[1][0] == "ILoopOutput kREVERSE suffix_sums"
    assert rows(tensorrt, "limits") == [("ITripLimit kCOUNT = 6", "TripLimit.COUNT in Python")]


def test_loop_5_as_onnx() -> None:
    result = sample("loop_for.xml", System.ONNX)
    assert rows(result, "inputs") == [("M = 10", "input 0"), ('cond = "" (absent: always true)', "input 1")]
    assert rows(result, "captures") == [("rate : float32[1]", "from main")]
    result = sample("loop_for_condition.xml", System.ONNX)
    assert any(text.startswith("a trip count of -1 is no limit in OpenVINO") for text in result.terms.requirements)
    sliced = sample("loop_slice_concat.xml", System.ONNX)
    assert rows(sliced, "sliced") == [("row : float32[1,3]", "= x[i:i+1, :], in the body")]


def test_features_that_tensorrt_cannot_express() -> None:
    endless = sample("loop_infinite.xml", System.TENSORRT)
    assert any("without any trip limit is refused" in text for text in endless.terms.unsupported)
    sequence = """
    g (int64 n, seq(float[N]) s0, float[N] x) => (seq(float[N]) s) {
      s = Loop <body = b (int64 i, bool c, seq(float[N]) q) => (bool c, seq(float[N]) r) {
        r = SequenceInsert (q, x)
      }> (n, , s0)
    }"""
    result = explain(model(sequence), System.TENSORRT)[0]
    assert any("TensorRT has no sequences" in text for text in result.terms.unsupported)
    result = explain(model(sequence), System.OPENVINO)[0]
    assert any("no sequences and optionals" in text for text in result.terms.unsupported)
    growing = """
    g (int64 n, double[1] x) => (double[M] y) {
      y = Loop <body = b (int64 i, bool c, double[1] v) => (bool c, double[2] w) {
        w = Concat <axis = 0> (v, v)
      }> (n, , x)
    }"""
    result = explain(model(growing), System.TENSORRT)[0]
    assert any(text.startswith("the shape of v changes") for text in result.terms.requirements)
    assert any(
        text.startswith("v is float64, which loops of TensorRT do not take") for text in result.terms.requirements
    )


def test_requirements_of_tensorrt() -> None:
    """Each requirement is listed only where it applies."""

    def needs(text: str) -> str:
        return " | ".join(explain(model(text), System.TENSORRT)[0].terms.requirements)

    counted = """
    g ({count} {m}, float[2] x) => (float[2] y, float[N, 2] rows) {{
      y, rows = Loop <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] w, float[2] row) {{
        w = Add (v, v)
        row = Identity (w)
      }}> ({m}, , x)
    }}"""
    result = needs(counted.format(count="int64", m="M"))
    assert (
        "kCOUNT takes int32: M is int64, which TensorRT's header allows from 10.0 on and its guide does not" in result
    )
    assert "how long rows gets is known only when the loop is entered" in result
    assert "float" not in result.replace("float32 and float16", "")
    static = """
    g (float[2] x) => (float[2] y, float[3, 2] rows) <int64 M = {3}> {
      y, rows = Loop <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] w, float[2] row) {
        w = Add (v, v)
        row = Identity (w)
      }> (M, , x)
    }"""
    result = needs(static)
    assert "kCOUNT takes" not in result
    assert "how long" not in result
    whole = needs(static.replace("float[2]", "int64[2]").replace("float[3, 2]", "int64[3, 2]"))
    assert "v, x" not in whole
    assert "v, row are int64: NVIDIA's guide names float32 and float16 alone for loops" in whole


def test_termination_of_loops() -> None:
    assert ends(SUM) == "After exactly M iterations. Nothing runs where M is 0 or negative."
    assert ends(COUNT) == (
        "When keep = v_out < bound is false, or after M iterations, whichever comes first."
        " The iteration that yields false still counts. Nothing runs where M is 0 or negative or `cond` is false."
    )
    assert " ".join(sample("loop_do_while.xml").ends) == (
        "When digits_left = drop_digit > 0 is false; there is no trip count."
        " The iteration that yields false still counts. The first iteration always runs."
    )
    assert sample("loop_infinite.xml").ends[0].startswith("Never: there is no trip count")
    assert sample("loop_for.xml").ends == ("After exactly 10 iterations.",)
    assert sample("lstm.xml").ends == ("After the last part of X (25 iterations).",)
    assert "-1 in max_trips means no limit." in sample("loop_for_condition.xml").ends


WHILE = """
g (bool go, float a, float x0) => (float x) {{
  x = Loop <body = b (int64 i, bool c, float v) => (bool keep, float w) {{
    {body}
    w = Add (v, a)
  }}> ("", {cond}, x0)
}}"""


def test_conditions_that_never_change_are_described() -> None:
    independent = WHILE.format(body="keep = Less (a, a)", cond="go")
    assert "The condition depends on nothing that changes between iterations" in ends(independent)
    passed = WHILE.format(body="keep = Identity (c)", cond="go")
    assert ends(passed).startswith("Never: there is no trip count, and the condition stays what it was at the entry.")
    assert "Nothing runs where go is false." in ends(passed)
    once = WHILE.format(body="keep = Constant <value = bool {0}> ()", cond="go")
    assert ends(once).startswith("After one iteration: the body's condition is always false.")
    never = WHILE.format(body="keep = Less (v, a)", cond="no").replace(") {\n", ")\n <bool no = {0}> {\n", 1)
    assert ends(never) == "It never starts: the initial condition is the constant false."


def test_differences_between_runtimes_are_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = SUM.replace(
        "keep = Constant <value = bool {1}> ()", "zero = Constant <value = float {0}> ()\n    keep = Less (v_in, zero)"
    )
    ran = run_cli(capsys, "explain", save_text_model(tmp_path, text))
    assert "  note        onnxruntime and OpenVINO would stop once the body's condition 'keep' is false" in ran.out
    assert "(absent: the body's condition is ignored)" in ran.out


def test_one_loop_of_several(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, NESTED)
    both = explain(package.load(path))
    assert [item.title.rpartition(" at ")[2] for item in both] == ["main", f"main ▸ {both[0].name}"]
    for name in (both[1].name, both[1].path):
        if both[0].name != name:
            out = run_cli(capsys, "explain", path, "--loop", both[1].path).out
            assert out.startswith(both[1].title) and both[0].title not in out.splitlines()
    captured = {row[0]: row[1] for row in rows(both[1], "captures")}
    assert captured["i : int64[]"] == f"from {both[0].name}"


def test_model_without_a_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, "g (float[N] x) => (float[N] y) { y = Add (x, x) }")
    ran = run_cli(capsys, "explain", path)
    assert ran.status == 0
    assert ran.out == "model.onnx has no loop; its main graph:\n\n  x = inputs\n  y = x + x\n  return y\n"
    results: dict[str, Any] = json.loads(run_cli(capsys, "explain", path, "--json").out)
    assert results["loops"] == [] and len(results["source"]) == 3


def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    newton = SAMPLES / "newton_sqrt.onnx"
    ran = run_cli(capsys, "explain", newton, "--loop", "sqrd")
    assert ran.status == 2
    assert ran.error_line == "newton_sqrt.onnx has no loop 'sqrd'; did you mean 'sqrt'?"
    ran = run_cli(capsys, "explain", newton, "--loop", "zzz")
    assert ran.error_line == "newton_sqrt.onnx has no loop 'zzz'; its loops are 'sqrt'"
    ran = run_cli(capsys, "explain", newton, "--as", "tflite")
    assert ran.status == 2 and "tflite" in ran.error_line
    assert run_cli(capsys, "explain", tmp_path / "no.onnx").status == 1
    assert run_cli(capsys, "explain").status == 2


def test_kwhile_is_not_described_in_onnx_terms() -> None:
    message = sample("counter.onnx", System.TENSORRT).ends
    assert not any("still counts" in text for text in message)
    assert any("asked before each iteration" in text for text in message)
    assert "The iteration that yields false still counts." in sample("counter.onnx").ends


def test_kwhile_recurrence_is_the_condition_in_other_vocabularies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "newton.py"
    assert run_cli(capsys, "convert", SAMPLES / "newton_sqrt.onnx", script, "--longest", 20).status == 0
    message = " ".join(run_cli(capsys, "explain", script).out.split())
    assert "Nothing runs where keep0 is false." in message
    for system, begins in (("onnx", "cond = keep0"), ("openvino", "execution_condition = keep0")):
        message = run_cli(capsys, "explain", script, "--as", system).out
        assert begins in message
        assert "has to be computed before the loop" not in message
    rows = _port_rows(capsys, script, "onnx")
    assert ["condition : bool[]", "body input 1, the condition"] in rows["body"]
    assert ["keep", "body output 0, the condition"] in rows["body"]
    assert [row[0] for row in rows["carried"]] == ["x : float32[]", "err : float32[]"]
    assert rows["carried"][0][1] == "input 2 x0 → body input 2; body output 1 x_new → output 0 root"
    assert rows["scan"][0][1].startswith("body output 3 x_new → output 2,")
    rows = _port_rows(capsys, script, "openvino")
    assert ["output 0 root ← x_new", "last value"] in rows["port_map"]
    assert [row[0] for row in rows["back_edges"]] == ["x_new → x", "err_new → err"]


def _port_rows(capsys: pytest.CaptureFixture[str], path: Path, system: str) -> dict[str, list[list[str]]]:
    report = json.loads(run_cli(capsys, "explain", path, "--as", system, "--json").out)
    return {section["title"]: section["rows"] for section in report["loops"][0]["ports"]}


def test_pretest_condition_is_first_tested_before_iteration_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = SAMPLES / "trt" / "halving.py"
    assert _port_rows(capsys, script, "onnx")["inputs"][1][0] == "cond = above, for iteration 0"
    assert _port_rows(capsys, script, "openvino")["inputs"][1][0] == "execution_condition = above, for iteration 0"


def test_tensorrt_stacking_is_described_in_onnx_terms(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run_cli(capsys, "explain", SAMPLES / "trt" / "rows_columns.py", "--as", "onnx", "--json").out)
    columns = next(loop for loop in report["loops"] if loop["name"] == "columns")
    needs = " ".join(columns["needs"])
    assert "a Transpose after the loop brings that of columns_in_order to 1" in needs
    assert "columns_reversed has to be reversed after the loop" in needs
    [scans] = [section["rows"] for section in columns["ports"] if section["title"] == "scan"]
    assert all(row[1].endswith("stacked on a new axis 0") for row in scans)


def test_padding_is_described_if_length_is_trip_count(capsys: pytest.CaptureFixture[str]) -> None:
    message = run_cli(capsys, "explain", SAMPLES / "trt" / "greedy.py", "--as", "onnx").out
    assert "tokens has the length 24, whatever runs" in message
    message = run_cli(capsys, "explain", SAMPLES / "trt" / "char_rnn.py", "--as", "onnx").out
    assert "whatever runs" not in message


def test_trip_counts_are_translated_with_their_types_and_negative_values(capsys: pytest.CaptureFixture[str]) -> None:
    counted = " ".join(run_cli(capsys, "explain", SAMPLES / "trt" / "counted.py", "--as", "onnx").out.split())
    assert "M is int64: n is int32" in counted
    counted = " ".join(run_cli(capsys, "explain", SAMPLES / "trt" / "counted.py", "--as", "openvino").out.split())
    assert "a negative n is an error in TensorRT" in counted
    fibonacci = " ".join(run_cli(capsys, "explain", SAMPLES / "fibonacci.onnx", "--as", "tensorrt").out.split())
    assert "a negative n runs nothing in ONNX" in fibonacci
    growing = SAMPLES / "loop_for_condition.xml"
    assert "where max_trips can be -1, it needs the largest int32" in " ".join(
        run_cli(capsys, "explain", growing, "--as", "tensorrt").out.split()
    )
