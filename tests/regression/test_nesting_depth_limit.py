"""ONNX's parser of its text form is recursive and crashed on deep brackets; protobuf ends at about 33 graphs itself."""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest

from cli_runner import run_cli


def nested(depth: int) -> str:
    text = '<ir_version: 8, opset_import: ["": 18]>\ng (float[] x, bool c) => (float[] t0) {\n'
    for k in range(depth):
        text += f"t{k} = If (c) <then_branch = a{k} () => (float[] t{k + 1}) {{ "
    text += f"t{depth} = Add (x, x) "
    for k in range(depth, 0, -1):
        text += f"}}, else_branch = e{k} () => (float[] u{k}) {{ u{k} = Identity (x) }}> "
    return text + "}"


@pytest.mark.parametrize("depth", [40, 500, 20_000])
def test_deep_text(depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.onnxtxt"
    path.write_text(nested(depth))
    for command in ("info", "explain", "run"):
        ran = run_cli(capsys, command, path)
        assert ran.status == 1
        assert "deep.onnxtxt" in ran.error_line
        if depth > 40:
            assert "nested too deeply" in ran.error_line


def test_text_that_is_not_too_deep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fine.onnxtxt"
    path.write_text(nested(20).replace("If (c)", "If (c)  # {{{{ (((( <<<< [[[[\n"))
    assert run_cli(capsys, "run", path, "--input", "c=true").status == 0


def test_brackets_in_texts_are_no_brackets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fine.onnxtxt"
    text = '<ir_version: 8, opset_import: ["": 18]>\ng () => (string s) { s = Constant <value_string = "' + "{" * 300
    path.write_text(text + '"> () }')
    assert run_cli(capsys, "run", path).status == 0


@pytest.mark.parametrize("suffix", [".json", ".textproto"])
def test_other_text_forms(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opening = '{"graph": {"node": [{"attribute": [{"g": ' if suffix == ".json" else "graph { node { attribute { g { "
    path = tmp_path / f"deep{suffix}"
    path.write_text(
        opening + ('{"node": [{"attribute": [{"g": ' if suffix == ".json" else "node{attribute{g{") * 20_000
    )
    before = time.process_time()
    assert run_cli(capsys, "info", path).error_line
    assert time.process_time() - before < 20


def test_protobuf_of_the_depth_that_protobuf_allows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.onnx"
    path.write_bytes(onnx.parser.parse_model(nested(25)).SerializeToString())
    assert run_cli(capsys, "run", path, "--input", "c=true").status == 0
