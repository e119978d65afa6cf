"""``loopdbg info``: the signature, the tree of loops, and the parts of each loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run_cli, save_text_model
from text_models import COUNT, NESTED, SAMPLES, SUM

MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def info(capsys: pytest.CaptureFixture[str], model: Path) -> dict[str, Any]:
    """The object of ``loopdbg info --json``."""
    ran = run_cli(capsys, "info", model, "--json")
    assert (ran.status, ran.err) == (0, "")
    results: dict[str, Any] = json.loads(ran.out)
    return results


def row(text: str, title: str) -> list[str]:
    """The entries under a title, with every run of blanks collapsed."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"  {title}"))
    end = next((k for k in range(start + 1, len(lines)) if lines[k][:3] != "   "), len(lines))
    first, *more = lines[start:end]
    return [" ".join(line.split()) for line in (first.removeprefix(f"  {title}"), *more)]


@pytest.mark.parametrize("name", MODELS)
def test_info_of_every_sample_model(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ran = run_cli(capsys, "info", SAMPLES / name)
    assert (ran.status, ran.err) == (0, "")
    result = info(capsys, SAMPLES / name)
    assert result["model"] == name
    assert result["loops"]
    assert result["unsupported"] == []
    for port in (*result["inputs"], *result["outputs"]):
        assert f" {port['name']} " in ran.out


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("fibonacci.onnx", ["for"]),
        ("newton_sqrt.onnx", ["while"]),
        ("counter.onnx", ["for with condition"]),
        ("loop_for.xml", ["for"]),
        ("loop_while.xml", ["while"]),
        ("loop_do_while.xml", ["do-while"]),
        ("loop_for_condition.xml", ["for with condition"]),
        ("loop_infinite.xml", ["endless"]),
        ("lstm.xml", ["for"]),
        ("loop_nested.xml", ["for", "for"]),
        ("mandelbrot.onnx", ["for", "for with condition"]),
    ],
)
def test_kinds_of_loops(capsys: pytest.CaptureFixture[str], name: str, kinds: list[str]) -> None:
    def all_kinds(loops: list[dict[str, Any]]) -> list[str]:
        return [kind for loop in loops for kind in (loop["kind"], *all_kinds(loop["loops"]))]

    assert all_kinds(info(capsys, SAMPLES / name)["loops"]) == kinds


def test_while_loop(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "info", SAMPLES / "newton_sqrt.onnx").out
    assert text.splitlines()[0] == "newton_sqrt.onnx: ONNX (opset 16), 1 loop"
    assert row(text, "inputs") == ["a float32[]", "tol float32[]"]
    assert row(text, "loops") == ["sqrt Loop, while"]
    assert "Loop 'sqrt' (opset 16) at main ▸ sqrt" in text
    assert row(text, "kind") == ["while"]
    assert " ".join(row(text, "ends")).startswith("When keep = err_new > tol is false; there is no trip count. ")
    assert row(text, "trip count") == ["absent"]
    assert row(text, "condition") == ["keep = err_new > tol"]
    assert row(text, "iteration number") == ["i int64[]"]
    assert row(text, "captures") == ["a float32[]", "tol float32[]"]
    assert row(text, "back edges") == ["x ← x0, then x_new float32[]", "err ← err0, then err_new float32[]"]
    assert row(text, "last-value outputs")[0] == "root = x_new float32[]"
    assert row(text, "scan outputs") == ["xs = x_new float32[n], stacked on a new axis 0"]


def test_types_inferred_from_the_body(capsys: pytest.CaptureFixture[str]) -> None:
    newton = run_cli(capsys, "info", SAMPLES / "newton_sqrt.onnx").out
    assert row(newton, "last-value outputs") == ["root = x_new float32[]", "last_err = err_new float32[]"]
    lstm = info(capsys, SAMPLES / "two_layer_lstm.onnx")
    rows = [port for loop in lstm["loops"] for port in loop["captures"] if port["name"] == "h1_rows"]
    assert [(port["dtype"], port["shape"]) for port in rows] == [("float32", [None, 16])]
    mandelbrot = run_cli(capsys, "info", SAMPLES / "mandelbrot.onnx").out
    assert row(mandelbrot, "scan outputs") == ["flat_counts = escape_count int64[?], stacked on a new axis 0"]
    assert "row_step type not declared" in row(mandelbrot, "captures")


UNDECLARED = """g (int64 n, TYPE0 w0) => (float total) {
  w, rows = Loop <body = b (int64 i, bool c, TYPE1 v) => (bool c2, TYPE2 v2, TYPE2 v2) {
    c2 = Identity (c) v2 = Concat <axis = 0> (v, v)
  }> (n, , w0)
  y, more = Loop <body = d (int64 j, bool e, u) => (bool e2, u2, u2) { e2 = Identity (e) u2 = Identity (u) }> (n, , w)
  total = ReduceSum <keepdims = 0> (y)
}"""


@pytest.mark.parametrize(
    ("types", "messages"),
    [
        (("float[3]", "float[3]", "float[3]"), ["float32[3]", "float32[?,3]", "float32[3]", "type not declared"]),
        (("float[3]", "float[k]", "float[2]"), ["float32[?]", "float32[?,2]", "float32[?]", "type not declared"]),
        (
            ("float[3]", "float[3]", "float[2,1]"),
            ["float32[...]", "float32[?,2,1]", "float32[...]", "type not declared"],
        ),
        (("float[3]", "", ""), ["float32[...]", "type not declared", "float32[...]", "type not declared"]),
        (
            ("seq(float)", "seq(float)", ""),
            ["seq(float32[])", "type not declared", "seq(float32[])", "type not declared"],
        ),
    ],
)
def test_partly_inferred_types(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, types: tuple[str, str, str], messages: list[str]
) -> None:
    text = UNDECLARED
    for k, kind in enumerate(types):
        text = text.replace(f"TYPE{k}", kind)
    ran = run_cli(capsys, "info", save_text_model(tmp_path, text))
    assert ran.status == 0
    ends = [line.partition(" = ")[2].split(",  ")[0] for line in ran.out.splitlines() if " = " in line]
    results = [
        end.split("   ")[-1].removesuffix(", stacked on a new axis 0") for end in ends if end[:2] in ("v2", "u2")
    ]
    assert results == messages


def test_tensor_iterator(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "info", SAMPLES / "lstm.xml").out
    assert row(text, "kind") == ["for"]
    assert row(text, "ends") == ["After the last part of X (25 iterations)."]
    assert row(text, "sliced inputs") == [
        "x ← X float32[1,1,512], axis 1, start 0, end -1, stride 1, part size 1: 25 parts"
    ]
    assert row(text, "back edges") == ["h ← H0, then h_next float32[1,256]", "c ← C0, then c_next float32[1,256]"]
    assert row(text, "scan outputs") == ["Y = y_slice float32[1,25,256], concatenated on axis 1"]


def test_backward_tensor_iterator(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "info", SAMPLES / "reverse_sum.xml").out
    assert "stride -1" in row(text, "sliced inputs")[0]
    assert row(text, "scan outputs")[0].endswith("concatenated on axis 0, the last iteration first")


def test_invariant_inputs_and_constants(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "info", SAMPLES / "loop_for_condition.xml").out
    assert row(text, "invariant inputs") == ["growth ← growth float32[1]", "limit ← limit float32[1]"]
    assert row(text, "kind") == ["for with condition"]
    ends = " ".join(row(text, "ends"))
    assert ends.startswith("When below_limit = grow < limit is false, or after max_trips iterations, whichever")
    assert "-1 in max_trips means no limit." in ends
    assert row(run_cli(capsys, "info", SAMPLES / "loop_nested.xml").out, "trip count") == [
        "8 (the constant 'trip_count')"
    ]


def test_ignored_condition(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = run_cli(capsys, "info", save_text_model(tmp_path, SUM)).out
    assert row(text, "condition")[0].endswith("ignored, since the loop's cond is absent")
    assert row(text, "kind") == ["for"]
    assert row(text, "ends") == ["After exactly M iterations. Nothing runs where M is 0 or negative."]


def test_nested_loops_are_a_tree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (outer,) = info(capsys, save_text_model(tmp_path, NESTED))["loops"]
    (inner,) = outer["loops"]
    assert inner["path"] == f"{outer['path']} ▸ {inner['name']}"
    assert [capture["name"] for capture in outer["captures"]] == ["K"]
    assert [capture["name"] for capture in inner["captures"]] == ["i"]
    assert outer["operators"] == {"Identity": 2, "Loop": 1, "ReduceSum": 1}


def test_model_without_a_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, "g (float[N] x) => (float[N] y) { y = Add (x, x) }")
    text = run_cli(capsys, "info", model).out
    assert text.splitlines()[0] == "model.onnx: ONNX (opset 21), no loop"
    assert row(text, "operators") == ["Add"]


def test_unsupported_operators_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = save_text_model(tmp_path, COUNT.replace("Identity (v_in)", "Frobnicate (v_in)"))
    text = run_cli(capsys, "info", model).out
    (line,) = row(text, "unsupported")
    assert line.startswith("Frobnicate '") and " at main ▸ " in line
    assert [item["node"].split()[0] for item in info(capsys, model)["unsupported"]] == ["Frobnicate"]
    assert run_cli(capsys, "run", model).status == 1


def test_notes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_cli(capsys, "info", SAMPLES / "loop_do_while.xml").out
    for note in info(capsys, SAMPLES / "loop_do_while.xml")["loops"][0]["notes"]:
        assert note in row(text, "notes")


def test_control_characters_in_names_are_escaped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import onnx

    model = save_text_model(tmp_path, COUNT)
    proto = onnx.load(model)
    proto.graph.node[0].name = "a\x1b[2Jb"
    onnx.save(proto, model)
    assert "\x1b" not in run_cli(capsys, "info", model).out
    ran = run_cli(capsys, "run", model, *(f"--input={text}" for text in ("M=3", "cond=true", "v0=1", "bound=9")))
    assert ran.status == 0
    assert "\x1b" not in ran.out
