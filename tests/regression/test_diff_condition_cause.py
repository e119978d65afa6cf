"""diff ignored conditions where one side ends: what they carry was the same, and no rule predicted the trip count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (float x0) => (float x) {
  yes = Constant <value = bool {1}> ()
  x = Loop <body = b (int64 i, bool c, float h) => (bool keep, float h2) {
    one = Constant <value = float {1}> ()
    limit = Constant <value = float {3}> ()
    h2 = Add (h, one)
    keep = COMPARE (h2, limit)
  }> (, yes, x0)
}"""


def test_the_node_of_the_condition_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [save_text_model(tmp_path, MODEL.replace("COMPARE", op), f"{op}.onnx") for op in ("Less", "LessOrEqual")]
    ran = run_cli(capsys, "diff", *pair, "--input", "x0=0")
    assert ran.status == 6
    assert "operator of 'keep', which the condition depends on" in ran.out
    assert "iteration 2, condition 'keep'" in ran.out
    assert "first node that differs: Less 'Less_3', in its place in LessOrEqual.onnx LessOrEqual" in ran.out
    assert "the condition differs in iteration 2" in ran.out and "no rule" not in ran.out
    report = json.loads(run_cli(capsys, "diff", *pair, "--input", "x0=0", "--json").out)
    assert (report["first"]["role"], report["first"]["iteration"]) == ("condition", 2)
    (loop,) = report["comparisons"][0]["loops"]
    assert loop["trip_difference"]["because"] == "the condition differs in iteration 2"


HANDED_ON = """g (int64 m, bool first, bool flag) => (bool p) {
  p = Loop <body = b (int64 i, bool c, bool held) => (bool keep, bool held2) {
    keep = Identity (held)
    held2 = Identity (held)
  }> (m, first, INITIAL)
}"""


def test_carried_condition_is_identified_by_initial_value(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Begun with the initial condition it ends nothing, which was listed next to the initial value that makes it so."""
    pair = [save_text_model(tmp_path, HANDED_ON.replace("INITIAL", name), f"{name}.onnx") for name in ("flag", "first")]
    inputs = ("--input", "m=2", "--input", "first=true", "--input", "flag=false")
    ran = run_cli(capsys, "diff", *pair, *inputs, "--json")
    assert ran.status == 6
    (comparison,) = json.loads(ran.out)["comparisons"]
    assert [item["kind"] for item in comparison["written"]] == ["initial value"]
