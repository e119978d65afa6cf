"""One more node shifts the numbers that an exporter gives: diff compared t_1 with another t_1."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

LEFT = """g (int64 n, float x0) => (float x) {
  x = Loop <body = b (int64 i, bool c, float h) => (bool c2, float h2) {
    c2 = Identity (c)
    one = Constant <value = float {1}> ()
    half = Constant <value = float {0.5}> ()
    t_1 = Mul (h, half)
    t_2 = Tanh (t_1)
    h2 = Add (t_2, one)
  }> (n, , x0)
}"""
SHIFTED = LEFT.replace("t_2", "t_3").replace("t_1", "t_2").replace("t_2 = Mul", "t_1 = Identity (h) t_2 = Mul")
MODEL_INPUTS = ("--input", "n=3", "--input", "x0=1")


def test_values_are_matched_by_what_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [
        save_text_model(tmp_path, LEFT, "a.onnx"),
        save_text_model(tmp_path, SHIFTED.replace("Add (t_3", "Sub (t_3"), "b.onnx"),
    ]
    ran = run_cli(capsys, "diff", *pair, *MODEL_INPUTS)
    assert ran.status == 6
    assert "first node that differs: Add 'Add_5', in its place in b.onnx Sub 'Sub_6'" in ran.out
    assert "t_2 = 0.46211" in ran.out


def test_numbers_alone_make_no_difference(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [save_text_model(tmp_path, LEFT, "a.onnx"), save_text_model(tmp_path, SHIFTED, "b.onnx")]
    ran = run_cli(capsys, "diff", *pair, *MODEL_INPUTS)
    assert ran.status == 0 and "written otherwise" not in ran.out


TWO = """g (int64 n, float x0) => (float y) {
  Loop_FIRST = Loop <body = a (int64 i, bool c, float h) => (bool c2, float h2) {
    c2 = Identity (c) h2 = Tanh (h) }> (n, , x0)
  y = Loop <body = b (int64 j, bool d, float k) => (bool d2, float k2) {
    d2 = Identity (d) k2 = Add (k, k) }> (n, , Loop_FIRST)
}"""


def test_loops_with_shifted_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Loop_1 of one model does what Loop_0 of the other does."""
    before = TWO.replace("=> (float y) {", "=> (float y) { z = Neg (x0)").replace("x0)\n  y", "z)\n  y")
    pair = [save_text_model(tmp_path, TWO, "a.onnx"), save_text_model(tmp_path, before, "b.onnx")]
    ran = run_cli(capsys, "diff", *pair, *MODEL_INPUTS)
    assert "'main ▸ Loop_0' and 'main ▸ Loop_1' (matched by structure)" in ran.out
    assert "'main ▸ Loop_1' and 'main ▸ Loop_2' (matched by structure)" in ran.out


OTHER = """g (float x) => (float y) <int64 n = {3}, bool go = {1}, float FIRST = {2}, float SECOND = {5}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float h) => (bool c2, float h2) {
    c2 = Identity (c)
    t_1 = Mul (h, FIRST)
    h2 = Add (t_1, SECOND)
  }>
}"""


def test_different_reads_are_reported_with_both_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of two models with names of their own, the right one's alone say nothing."""
    is_present = OTHER.replace("Mul (h, FIRST)", "Mul (h, SECOND)").replace("FIRST", "k7").replace("SECOND", "k8")
    pair = [
        save_text_model(tmp_path, OTHER, "a.onnx"),
        save_text_model(tmp_path, is_present.replace("t_1", "t_4"), "b.onnx"),
    ]
    ran = run_cli(capsys, "diff", *pair, "--input", "x=1")
    assert "b.onnx  t_4 = h * 5.0 (k8 holds the same as SECOND)" in ran.out
    assert "it reads 'FIRST' here, 'k8' there, which holds the same as SECOND" in ran.out
    others = (
        OTHER.replace("Add (t_1", "Add (h").replace("t_1", "t_4").replace("float h)", "float k3)").replace("(h", "(k3")
    )
    ran = run_cli(capsys, "diff", pair[0], save_text_model(tmp_path, others, "c.onnx"), "--input", "x=1")
    assert "c.onnx  h2 = k3 + 5.0 (k3 corresponds to h)" in ran.out
