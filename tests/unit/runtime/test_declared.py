"""What a model says of types that does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from command_line import loopdbg as command
from command_line import save

#: The body doubles what is declared to stay as it is, and Relu takes int8 from opset 14 on.
TEXT = """g (int64 m, float[2,3] x, int8[4] k) => (float[2,4] y, int8[4] w) {
  w = Relu (k)
  y = Loop <body: graph = b (int64 i, bool c, float[2,3] v) => (bool co, float[2,3] vo) {
    co = Identity (c) t = Add (v, v) vo = Concat <axis = 1> (t, t) }> (m, , x) }"""
INPUTS = {"m": 2, "x": np.ones((2, 3), np.float32), "k": np.ones(4, np.int8)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save(tmp_path, TEXT, opset=13)


def test_a_run_says_what_it_contradicts(path: Path) -> None:
    run = loopdbg.load(path).execute(INPUTS)
    assert run.outputs["y"].shape == (2, 12)
    assert run.notes == (
        "'y' is declared as float32[2,4], and was float32[2,12].",
        "Relu 'Relu_0' (opset 13) gets 'k', a tensor(int8), which Relu does not list in that version; it is computed"
        " all the same.",
    )
    assert [note for loop in run.loops for note in loop.notes] == [
        "'vo' is declared as float32[2,3], and was float32[2,12] in the last iteration."
    ]


def test_what_holds_is_not_noted(tmp_path: Path) -> None:
    text = TEXT.replace("float[2,3] v", "float[2,N] v").replace("float[2,3] vo", "float[2,M] vo")
    run = loopdbg.load(save(tmp_path, text.replace("float[2,4] y", "float[A,B] y"), opset=14)).execute(INPUTS)
    assert run.notes == ()
    assert [loop.notes for loop in run.loops] == [()]


def test_info_shows_declaration_and_reality(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    told = json.loads(command(capsys, "info", path, "--json").out)
    assert told["contradicted"] == [{"name": "vo", "declared": "float32[2,3]", "computed": "float32[2,6]"}]
    assert [note.split()[0] for note in told["notes"]] == ["Relu"]
    assert "contradicted       vo   declared float32[2,3], computed float32[2,6]" in command(capsys, "info", path).out
