"""What a model says of types that does not hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command
from cli_runner import save_text_model
from ir_builder import IrNetBuilder, counting_loop, running_sum, save_net

#: The body doubles what is declared to stay as it is, and Relu takes int8 from opset 14 on.
TEXT = """g (int64 m, float[2,3] x, int8[4] k) => (float[2,4] y, int8[4] w) {
  w = Relu (k)
  y = Loop <body: graph = b (int64 i, bool c, float[2,3] v) => (bool co, float[2,3] vo) {
    co = Identity (c) t = Add (v, v) vo = Concat <axis = 1> (t, t) }> (m, , x) }"""
INPUTS = {"m": 2, "x": np.ones((2, 3), np.float32), "k": np.ones(4, np.int8)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save_text_model(tmp_path, TEXT, opset=13)


def test_a_run_says_what_it_contradicts(path: Path) -> None:
    run = loopdbg.load(path).execute(INPUTS)
    assert run.outputs["y"].shape == (2, 12)
    assert run.notes == (
        "'y' is declared as float32[2,4], and was float32[2,12].",
        "Relu 'Relu_0' (opset 13) gets 'k', a tensor(int8), which Relu does not list in that version; it is computed"
        " all the same.",
    )
    assert [note for loop in run.loops for note in loop.notes] == [
        "'v' is declared as float32[2,3], and was float32[2,6];"
        " 'vo' is declared as float32[2,3], and was float32[2,12] in the last iteration."
    ]


def test_what_holds_is_not_noted(tmp_path: Path) -> None:
    text = TEXT.replace("float[2,3] v", "float[2,N] v").replace("float[2,3] vo", "float[2,M] vo")
    run = loopdbg.load(save_text_model(tmp_path, text.replace("float[2,4] y", "float[A,B] y"), opset=14)).execute(
        INPUTS
    )
    assert run.notes == ()
    assert [loop.notes for loop in run.loops] == [()]


CARRIED = """g (int64 m, float[A] x) => (float[B] y) {
  y = Loop <body: graph = b (I i, bool c, V v) => (bool co, float[C] vo) { co = Identity (c) vo = BODY }> (m, , x) }"""
TWICE = "Add (v, v)"


def notes(path: Path, inputs: Mapping[str, Any], **options: Any) -> list[str]:
    """What a run says of the body's values: the same however it is run."""
    model = loopdbg.load(path)
    results = [note for loop in model.execute(inputs, **options).loops for note in loop.notes]
    watched = model.execute(inputs, on_iteration=lambda frame: None, **options)
    assert [note for loop in watched.loops for note in loop.notes] == results
    return results


def carried(folder: Path, kind: str, body: str = TWICE, number: str = "int64") -> Path:
    text = CARRIED.replace("V v", f"{kind} v").replace("BODY", body).replace("I i", f"{number} i")
    return save_text_model(folder, text)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("float[3]", "'v' is declared as float32[3], and was float32[4] in the last iteration."),
        ("int64[4]", "'v' is declared as int64[4], and was float32[4] in the last iteration."),
        ("float", "'v' is declared as float32[], and was float32[4] in the last iteration."),
        ("float[1,4]", "'v' is declared as float32[1,4], and was float32[4] in the last iteration."),
        ("float[4]", None),
        ("float[N]", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("trips", [1, 2, 1000])
def test_what_a_body_gets(tmp_path: Path, kind: str, message: str | None, trips: int) -> None:
    # It is reported once, whatever the number of iterations.
    body = "Neg (v)"
    inputs = {"m": trips, "x": np.ones(4, np.float32)}
    assert notes(carried(tmp_path, kind, body), inputs) == ([] if message is None else [message])
    # What is handed on keeps its buffer, what is read from outside as well does not.
    assert notes(carried(tmp_path, kind, "Identity (v)"), inputs) == ([] if message is None else [message])
    assert notes(carried(tmp_path, kind, "Identity (x)"), inputs) == ([] if message is None else [message])


def test_what_a_body_gets_without_iterations(tmp_path: Path) -> None:
    inputs = {"m": 0, "x": np.ones(4, np.float32)}
    assert notes(carried(tmp_path, "int64[3]"), inputs) == []


@pytest.mark.parametrize("trips", [2, 50])
def test_a_scalar_of_another_type(tmp_path: Path, trips: int) -> None:
    text = CARRIED.replace("float[A]", "float").replace("float[B]", "float").replace("float[C]", "float")
    path = save_text_model(tmp_path, text.replace("V v", "int64 v").replace("BODY", TWICE).replace("I i", "float i"))
    assert notes(path, {"m": trips, "x": np.float32(1)}) == [
        "'i' is declared as float32[], and was int64[];"
        " 'v' is declared as int64[], and was float32[] in the last iteration."
    ]


def test_an_initial_value_that_alone_does_not_fit(tmp_path: Path) -> None:
    text = CARRIED.replace("V v", "float[2] v").replace("I i", "int64 i")
    path = save_text_model(tmp_path, text.replace("vo = BODY", "w = ReduceMax (v) vo = Concat <axis = 0> (w, w)"))
    inputs = {"x": np.ones(4, np.float32)}
    message = "'v' is declared as float32[2], and was float32[4] in {}."
    assert notes(path, {**inputs, "m": 3}) == [message.format("iteration 0")]
    assert notes(path, {**inputs, "m": 1}) == [message.format("the last iteration")]


def test_what_grows(tmp_path: Path) -> None:
    path = carried(tmp_path, "float[2]", "Concat <axis = 0> (v, x)")
    assert notes(path, {"m": 1, "x": np.ones(2, np.float32)}) == []
    assert notes(path, {"m": 40, "x": np.ones(2, np.float32)}) == [
        "'v' is declared as float32[2], and was float32[80] in the last iteration."
    ]


def test_an_inner_loop_gets_what_the_outer_one_carries(tmp_path: Path) -> None:
    text = """g (int64 m, float[A] x) => (float[B] y) {
      y = Loop <body: graph = b (int64 i, bool c, float[N] v) => (bool co, float[C] vo) {
        co = Identity (c)
        w = Loop <body: graph = d (int64 j, bool e, V u) => (bool eo, float[D] uo) { eo = Identity (e) uo = Neg (u) }>
            (m, , v)
        vo = Concat <axis = 0> (w, w)
      }> (m, , x) }"""
    inputs = {"m": 2, "x": np.ones(3, np.float32)}
    # The last entry of the inner one got 6 elements; 12 are what the outer one carries by the end.
    message = "'u' is declared as {}, and was float32[6] in the last iteration."
    assert notes(save_text_model(tmp_path, text.replace("V u", "float[12] u")), inputs) == [
        message.format("float32[12]")
    ]
    assert notes(save_text_model(tmp_path, text.replace("V u", "float[6] u")), inputs) == []
    assert notes(save_text_model(tmp_path, text.replace("V u", "int32[6] u")), inputs) == [message.format("int32[6]")]


def test_slices_of_a_scan(tmp_path: Path) -> None:
    text = """g (float[T,4] x, float[4] s0) => (float[B] s, float[T,D] rows) {
      s, rows = Scan <num_scan_inputs = 1, body = b (float[4] a, float[3] part) => (float[4] a2, float[4] row) {
        a2 = Add (a, part) row = Neg (a) }> (s0, x) }"""
    inputs = {"x": np.ones((5, 4), np.float32), "s0": np.ones(4, np.float32)}
    assert notes(save_text_model(tmp_path, text), inputs) == [
        "'part' is declared as float32[3], and was float32[4] in the last iteration."
    ]


def declaring(folder: Path, net: IrNetBuilder, parameter: str, data: str) -> Path:
    """An IR one of whose body's Parameters declares something else."""
    # Those of the main graph come before a loop with its body.
    before, head, after = net.text().rpartition(f'name="{parameter}" type="Parameter" version="opset1"><data')
    text = f"{before}{head} {data}/>{after.partition('/>')[2]}"
    return save_net(folder, f'<net name="model" version="11">{text}</net>', blob=bytes(net.blob))


@pytest.mark.parametrize(
    ("parameter", "shape", "message"),
    [
        ("part", "1,5", "'part' is declared as float32[1,5], and was float32[1,2] in the last iteration."),
        ("total", "3,2", "'total' is declared as float32[3,2], and was float32[1,2] in the last iteration."),
        ("total", "?,2", None),
    ],
)
def test_parameters_of_a_tensor_iterator(tmp_path: Path, parameter: str, shape: str, message: str | None) -> None:
    path = declaring(tmp_path, running_sum(), parameter, f'shape="{shape}" element_type="f32"')
    inputs = {"x": np.ones((4, 2), np.float32), "start": np.zeros((1, 2), np.float32)}
    assert notes(path, inputs) == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("parameter", "data", "messages"),
    [
        ("step", 'shape="7" element_type="f32"', ["'step' is declared as float32[7], and was float32[1]"]),
        ("step", 'shape="1" element_type="i64"', ["'step' is declared as int64[1], and was float32[1]"]),
        ("total", 'shape="1,1" element_type="f32"', ["'total' is declared as float32[1,1], and was float32[1]"]),
        ("total", 'shape="?" element_type="f32"', []),
    ],
)
def test_parameters_of_a_loop_of_an_ir(tmp_path: Path, parameter: str, data: str, messages: list[str]) -> None:
    path = declaring(tmp_path, counting_loop(), parameter, data)
    inputs = {"start": np.zeros(1, np.float32), "step": np.ones(1, np.float32)}
    assert notes(path, inputs) == [f"{text} in the last iteration." for text in messages]


def test_info_shows_declaration_and_reality(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    report = json.loads(command(capsys, "info", path, "--json").out)
    assert report["contradicted"] == [{"name": "vo", "declared": "float32[2,3]", "computed": "float32[2,6]"}]
    assert [note.split()[0] for note in report["notes"]] == ["Relu"]
    assert "contradicted       vo   declared float32[2,3], computed float32[2,6]" in command(capsys, "info", path).out
