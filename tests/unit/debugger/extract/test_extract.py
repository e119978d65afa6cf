"""Loops, and iterations of them, extracted as models of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import pytest
from onnx import numpy_helper

import loopdbg
from cli_runner import run_cli as command
from cli_runner import save_text_model
from error_fields import raises_error
from extraction_checks import check_onnxruntime_agrees, extract_every_part, load_sidecar_data
from loopdbg.debugger.extract.capture_runs import CaptureRuns, LoopEntryRef
from loopdbg.debugger.extract.extract_loop import ExtractionResult, extract, find_loop
from loopdbg.runtime.errors import Remedy, UnsupportedError, UsageError
from tensorrt_networks import NetworkBuilder, output_of
from text_models import NESTED, SAMPLES, proto, random_floats, sample

SAMPLE_MODELS = sorted(path.name for path in SAMPLES.glob("*.onnx"))
CAPTURES = """
captures (float[2] x, int64 M) => (float[2] y)
<float[2] w = {2, 3}> {
  two = Constant <value = float {2}> ()
  z = Mul (x, two)
  y = Loop <body = body (int64 i, bool c, float[2] h) => (bool keep, float[2] h_next) {
    keep = Identity (c)
    a = Mul (h, w)
    b = Add (a, z)
    h_next = Div (b, two)
  }> (M, , x)
}
"""
RANDOM = """
draws (int64 M, float[3] x) => (float[3] y) {
  y = Loop <body = body (int64 i, bool c, float[3] h) => (bool keep, float[3] h_next) {
    keep = Identity (c)
    noise = RandomNormalLike (h)
    h_next = Add (h, noise)
  }> (M, , x)
}
"""
SEQUENCES = """
gather (int64 M, float[2] x) => (float[N] y) {
  empty = SequenceEmpty ()
  all = Loop <body = body (int64 i, bool c, seq(float[2]) s) => (bool keep, seq(float[2]) s_next) {
    keep = Identity (c)
    n = Cast <to = 1> (i)
    e = Add (x, n)
    s_next = SequenceInsert (s, e)
  }> (M, , empty)
  y = ConcatFromSequence <axis = 0> (all)
}
"""
SHADOWS = """
shadows (int64 M, float h) => (float y)
<float w = {2}> {
  y = Loop <body = body (int64 i, bool c, float h) => (bool keep, float h_next) <float w = {3}> {
    keep = Identity (c)
    h_next = Mul (h, w)
  }> (M, , h)
}
"""
ROOTS = """
roots (int64 M, float x) => (float y) {
  y = Loop <body = body (int64 i, bool c, float h) => (bool keep, float h_next) {
    keep = Identity (c)
    one = Constant <value = float {1}> ()
    less = Sub (h, one)
    root = Sqrt (less)
    rest = Relu (root)
    h_next = Sub (rest, one)
  }> (M, , x)
}
"""


def cut(
    source: Path, inputs: Mapping[str, Any], folder: Path, number: int | None = None, loop: Any = None, **more: Any
) -> ExtractionResult:
    loaded = loopdbg.load(source)
    runs = CaptureRuns(loaded, inputs)
    return extract(runs, runs.first_entry(find_loop(loaded, loop)), number, folder / "part", **more)


@pytest.mark.parametrize("name", SAMPLE_MODELS)
def test_every_loop_of_the_sample_models(name: str, tmp_path: Path) -> None:
    loaded, inputs = sample(name)
    kinds = set()
    for item in extract_every_part(loaded, inputs, tmp_path):
        kinds.add(item.iteration is None)
        onnx.checker.check_model(item.model)
        check_onnxruntime_agrees(item)
    assert kinds == {True, False}


def test_needed_constants_are_included(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, CAPTURES)
    result = cut(path, {"x": random_floats(2), "M": 3}, tmp_path, 1)
    graph = onnx.load(result.model).graph
    assert result.inputs == ("i", "c", "h", "z") and result.outputs == ("keep", "h_next")
    assert [tensor.name for tensor in graph.initializer] == ["w"]
    assert [node.op_type for node in graph.node] == ["Constant", "Identity", "Mul", "Add", "Div"]
    check_onnxruntime_agrees(result)
    assert load_sidecar_data(result)[0]["i"] == 1


def test_model_metadata_is_kept(tmp_path: Path) -> None:
    source = proto(CAPTURES)
    source.producer_name, source.producer_version = "exporter", "7"
    source.metadata_props.add(key="origin", value="here")
    body = source.graph.node[2].attribute[0].g
    body.node[1].metadata_props.add(key="pkg.torch.onnx.stack_trace", value="model.py:12")
    body.node[1].doc_string = "the gate"
    onnx.save(source, tmp_path / "m.onnx")
    for number in (None, 0):
        result = cut(tmp_path / "m.onnx", {"x": random_floats(2), "M": 3}, tmp_path, number, force=True)
        outcome = onnx.load(result.model)
        assert (outcome.producer_name, outcome.producer_version, outcome.ir_version) == ("exporter", "7", 10)
        assert outcome.metadata_props == source.metadata_props and outcome.opset_import == source.opset_import
        nodes = outcome.graph.node if number == 0 else outcome.graph.node[-1].attribute[0].g.node
        assert body.node[1] in nodes


def test_functions_are_included_and_loops_are_extracted_from_them(tmp_path: Path) -> None:
    source = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (int64 M, float x) => (float y, float z) {
          y = own.Steps <scale = 3.0> (M, x)
          z = own.Steps <scale = 5.0> (M, y)
        }
        <domain: "own", opset_import: ["" : 20, "own" : 1]>
        Steps <scale> (count, begin) => (end) {
          factor = Constant <value_float: float = @scale> ()
          end = Loop <body = body (int64 i, bool c, float h) => (bool keep, float h_next) {
            keep = Identity (c)
            h_next = own.Scaled (h, factor)
          }> (count, , begin)
        }
        <domain: "own", opset_import: ["" : 20]>
        Scaled (a, b) => (c) { c = Mul (a, b) }
        <domain: "own", opset_import: ["" : 20]>
        Unused (a) => (b) { b = Neg (a) }"""
    )
    onnx.save(source, tmp_path / "m.onnx")
    loaded = loopdbg.load(tmp_path / "m.onnx")
    for plan, factor in zip(loaded.plan.loops, (3, 5), strict=True):
        for number in (None, 1):
            result = cut(tmp_path / "m.onnx", {"M": 2, "x": 2.0}, tmp_path, number, plan.path, force=True)
            outcome = onnx.load(result.model)
            onnx.checker.check_model(outcome)
            assert [function.name for function in outcome.functions] == ["Scaled"]
            assert {item.domain: item.version for item in outcome.opset_import} == {"": 20, "own": 1}
            (fixed,) = (node for node in outcome.graph.node if node.op_type == "Constant")
            assert fixed.attribute[0].f == factor and not fixed.attribute[0].ref_attr_name
            check_onnxruntime_agrees(result)


def test_random_numbers_become_inputs_of_an_iteration(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, RANDOM)
    result = cut(path, {"M": 3, "x": random_floats(3)}, tmp_path, 2)
    assert result.inputs == ("i", "c", "h", "noise")
    check_onnxruntime_agrees(result)
    with raises_error(UnsupportedError, op_type="RandomNormalLike", remedy=Remedy.ONE_ITERATION):
        cut(path, {"M": 3, "x": random_floats(3)}, tmp_path / "all")


def test_sequences_are_inputs_and_outputs(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, SEQUENCES)
    for number in (None, 0, 2):
        result = cut(path, {"M": 3, "x": random_floats(2)}, tmp_path, number, force=True)
        if number != 0:  # An empty sequence in test data has no type.
            check_onnxruntime_agrees(result)
        assert len(load_sidecar_data(result)[1]["all" if number is None else "s_next"]) == (
            3 if number is None else number + 1
        )


def test_shadowing_names(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, SHADOWS)
    result = cut(path, {"M": 3, "h": 1.0}, tmp_path, 1)
    assert result.inputs == ("i", "c", "h") and load_sidecar_data(result)[1]["h_next"] == 9


def test_external_data_is_read(tmp_path: Path) -> None:
    source = proto(CAPTURES)
    source.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([2, 3], np.float32), "w"))
    onnx.save_model(source, tmp_path / "m.onnx", save_as_external_data=True, location="w.data", size_threshold=0)
    assert (tmp_path / "w.data").exists()
    result = cut(tmp_path / "m.onnx", {"x": random_floats(2), "M": 3}, tmp_path)
    assert sorted(path.name for path in result.model.parent.iterdir()) == ["README.md", "model.onnx", "test_data_set_0"]
    check_onnxruntime_agrees(result)


def test_large_constants_are_external(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopdbg.runtime.modelfile.onnx_storage.MAX_INLINE_BYTES", 100)
    source = proto(CAPTURES.replace("[2]", "[2000]").replace("<float[2000] w = {2, 3}>", ""))
    source.graph.initializer.append(numpy_helper.from_array(random_floats(2000), "w"))
    onnx.save(source, tmp_path / "m.onnx")
    result = cut(tmp_path / "m.onnx", {"x": random_floats(2000), "M": 3}, tmp_path)
    assert (result.model.parent / "model.onnx.data").stat().st_size >= 8000
    check_onnxruntime_agrees(result)


def test_initializers_among_the_inputs(tmp_path: Path) -> None:
    source = proto(CAPTURES, opset=8)
    source.ir_version = 3
    source.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [2]))
    onnx.save(source, tmp_path / "m.onnx")
    # An input with a default may have been passed: it is an input of the extracted model.
    result = cut(tmp_path / "m.onnx", {"x": random_floats(2), "M": 3, "w": np.array([5, 6], np.float32)}, tmp_path)
    assert result.inputs == ("M", "x", "w", "z")
    check_onnxruntime_agrees(result)


def test_recurrent_operators(tmp_path: Path) -> None:
    text = """
    r (float[4, 1, 2] x) => (float[4, 2, 1, 3] y, float[2, 1, 3] h) {
      y, h = GRU <hidden_size = 3, direction = "bidirectional"> (x, w, r)
    }"""
    source = proto(text)
    source.graph.initializer.extend(
        [numpy_helper.from_array(random_floats(2, 9, 2), "w"), numpy_helper.from_array(random_floats(2, 9, 3), "r")]
    )
    onnx.save(source, tmp_path / "m.onnx")
    loaded = loopdbg.load(tmp_path / "m.onnx")
    kinds = [item.iteration for item in extract_every_part(loaded, {"x": random_floats(4, 1, 2)}, tmp_path)]
    assert kinds == [None, 0, 1, 3] * 2
    result = cut(tmp_path / "m.onnx", {"x": random_floats(4, 1, 2)}, tmp_path / "..", None, loaded.plan.loops[0].path)
    assert [node.op_type for node in onnx.load(result.model).graph.node] == ["GRU"]


def test_tensorrt_network(tmp_path: Path) -> None:
    net = NetworkBuilder()
    x = net.input_tensor("x", shape=(3, 2))
    loop = net.counted_loop(3)
    row = output_of(loop.add_iterator(x, 0))
    carried, result = net.add_carried(loop, net.const([0, 0]), lambda h: net.elementwise(h, row))
    net.last(loop, carried, "h")
    net.stack(loop, result, "all", length=3)
    for item in extract_every_part(net.model(), {"x": random_floats(3, 2)}, tmp_path):
        check_onnxruntime_agrees(item)


MAPPED = """
m (seq(float[2]) s, float[2] w) => (seq(float[2]) y) {
  y = SequenceMap <body = b (float[2] a, float[2] ww) => (float[2] r) { r = Add (a, ww) }> (s, w)
}
"""
OPTIONAL = """
o (int64 M, optional(float[2]) o) => (float[2] y) {
  z = Constant <value = float[2] {0, 0}> ()
  y = Loop <body = b (int64 i, bool c, float[2] h) => (bool k, float[2] h2) {
    k = Identity (c)
    has = OptionalHasElement (o)
    e = If <
      then_branch = t () => (float[2] g) { g = OptionalGetElement (o) },
      else_branch = f () => (float[2] g2) { g2 = Identity (z) }
    > (has)
    h2 = Add (h, e)
  }> (M, , z)
}
"""
IN_A_BRANCH = """
q (bool p, int64 M, float[2] x) => (float[2] y) {
  y = If <
    then_branch = t () => (float[2] a) {
      a = Loop <body = b (int64 i, bool c, float[2] h) => (bool k, float[2] h2) {
        k = Identity (c)
        h2 = Add (h, x)
      }> (M, , x)
    },
    else_branch = e () => (float[2] b) { b = Identity (x) }
  > (p)
}
"""


@pytest.mark.parametrize(
    ("text", "inputs", "suffix", "count"),
    [
        (MAPPED, {"s": [random_floats(2), random_floats(2)], "w": random_floats(2)}, ".onnx", 3),
        (OPTIONAL, {"M": 2, "o": random_floats(2)}, ".onnx", 3),
        (IN_A_BRANCH, {"p": True, "M": 3, "x": random_floats(2)}, ".onnx", 4),
        (IN_A_BRANCH, {"p": True, "M": 3, "x": random_floats(2)}, ".json", 4),
        (IN_A_BRANCH, {"p": True, "M": 3, "x": random_floats(2)}, ".onnxtxt", 4),
    ],
)
def test_loops_of_other_forms(
    text: str, inputs: Mapping[str, Any], suffix: str, count: int, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = save_text_model(tmp_path, text, f"m{suffix}")
    parts = list(extract_every_part(loopdbg.load(path), inputs, tmp_path))
    assert len(parts) == count
    check_onnxruntime_agrees(parts[-1])


def test_empty_optional(tmp_path: Path) -> None:
    path = save_text_model(tmp_path, OPTIONAL)
    parts = [
        load_sidecar_data(item)[0]["o"]
        for item in extract_every_part(loopdbg.load(path), {"M": 2, "o": None}, tmp_path)
    ]
    assert parts == [None, None, None]


def test_loop_that_is_not_entered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="loop 'Loop_0' is not entered in this run"):
        cut(save_text_model(tmp_path, IN_A_BRANCH), {"p": False, "M": 3, "x": random_floats(2)}, tmp_path)


# -- which part


def test_entries_of_a_nested_loop(tmp_path: Path) -> None:
    loaded = loopdbg.load(save_text_model(tmp_path, NESTED))
    runs = CaptureRuns(loaded, {"M": 3, "K": 2})
    inner = loaded.plan.loops[1]
    assert runs.first_entry(inner).entry == (0,)
    result = extract(runs, LoopEntryRef(inner, (2,)), 1, tmp_path / "part")
    fed, inputs = load_sidecar_data(result)
    assert (fed["i"], fed["j"], fed["u"], inputs["u_out"]) == (2, 1, 1, 3)
    with raises_error(UsageError, loop="Loop_1", iteration=0):
        extract(runs, LoopEntryRef(inner, (5,)), 0, tmp_path / "part2")
    with raises_error(UsageError, loop="Loop_1", iteration=2):
        extract(runs, LoopEntryRef(inner, (2,)), 2, tmp_path / "part2")
    assert not (tmp_path / "part2").exists()


# -- the command line


def test_command_writes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "part"
    ran = command(capsys, "extract", SAMPLES / "newton_sqrt.onnx", "--iteration", "last", "-o", part, "--json")
    report = json.loads(ran.out)
    assert ran.status == 0 and (report["loop"], report["iteration"], report["expected_by"]) == ("sqrt", 4, "loopdbg")
    assert "all 4 outputs are as in" in command(capsys, "run", part / "model.onnx").err
    assert "newton_sqrt.onnx by loopdbg" in (part / "README.md").read_text()
    again = command(capsys, "extract", SAMPLES / "newton_sqrt.onnx", "-o", part)
    assert again.status == 2 and "has something in it already" in again.error_line
    mine, stale = part / "test_data_set_0" / "notes.txt", part / "test_data_set_0" / "output_99.pb"
    for path in (mine, stale):
        path.write_bytes(b"x")
    assert command(capsys, "extract", SAMPLES / "newton_sqrt.onnx", "-o", part, "--force").status == 0
    assert mine.exists() and not stale.exists(), "older test data go, and nothing else"


def test_command_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newton, pixels = SAMPLES / "newton_sqrt.onnx", SAMPLES / "mandelbrot.onnx"
    part = tmp_path / "part"
    for arguments, status, text in (
        ((newton, "--iteration", "77"), 2, "has no iteration 77"),
        ((newton, "--iteration", "x"), 2, "a number is needed"),
        ((newton, "--iteration", "diff"), 2, "--against PEER go together"),
        ((newton, "--loop", "sqr"), 2, "'sqrt'"),
        ((newton, "--entry", "3"), 2, "has no loop around it"),
        ((pixels,), 2, "several loops: 'pixels', 'escape'; name one with --loop"),
        ((pixels, "--loop", "escape", "--iteration", "1/2/3"), 2, "1 around it"),
        ((newton, "--max-iterations", "2"), 4, "within 2 iterations"),
    ):
        ran = command(capsys, "extract", *arguments, "-o", part)
        assert ran.status == status and text in ran.err.splitlines()[-1], ran
        assert not part.exists()
    assert "there is no folder" in command(capsys, "extract", newton, "-o", tmp_path / "a" / "b").error_line


def test_first_difference_to_a_peer_is_extracted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    same = command(capsys, "extract", SAMPLES / "collatz.onnx", "--iteration", "diff", "--against", "onnxruntime",
                   "-o", tmp_path / "part")  # fmt: skip
    assert same.status == 2 and "does not differ in onnxruntime" in same.err


def test_iteration_in_which_openvino_differs_is_extracted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenVINO gives 0 for the ReLU of NaN (docs/peers.md): iteration 3, 0.41, the root of -0.59."""
    pytest.importorskip("openvino")
    path = save_text_model(tmp_path, ROOTS)
    arguments = (path, "--input", "M=5", "--input", "x=3", "--iteration", "diff", "--against", "openvino")
    ran = command(capsys, "extract", *arguments, "-o", tmp_path / "part", "--json")
    assert ran.status == 0 and json.loads(ran.out)["iteration"] == 1, ran
    fed, inputs = load_sidecar_data(ExtractionResult(tmp_path / "part" / "model.onnx", "", (), 1, (), ()))
    assert fed["h"] == pytest.approx(0.41421354) and np.isnan(inputs["h_next"])


FAILING = """
rows (int64 M, float[4,2] x, float[2] h) => (float[2] y) {
  y = Loop <body = body (int64 i, bool c, float[2] h) => (bool keep, float[2] h_next) {
    keep = Identity (c)
    turned = Sin (h)
    row = Gather (x, i)
    h_next = Add (turned, row)
  }> (M, , h)
}
"""


def test_failing_iteration_is_written_with_the_values_computed_before(tmp_path: Path, capsys: Any) -> None:
    path = save_text_model(tmp_path, FAILING)
    np.savez(tmp_path / "in.npz", M=np.int64(9), x=np.ones((4, 2), np.float32), h=np.zeros(2, np.float32))
    words = ("--inputs", tmp_path / "in.npz", "-o", tmp_path / "part")
    ran = command(capsys, "extract", path, "--iteration", "4", *words)
    assert ran.status == 0, ran.err
    assert "it fails by itself as in the run: " in ran.out
    assert "expected outputs: 'keep" in ran.out and "h_next" not in ran.out
    page = (tmp_path / "part" / "README.md").read_text(encoding="utf-8")
    assert "In that run this iteration failed:" in page and "Gather" in page
    files = sorted(item.name for item in (tmp_path / "part" / "test_data_set_0").glob("output_*"))
    assert files == ["output_0.pb"]
    ran = command(capsys, "run", tmp_path / "part" / "model.onnx")
    assert ran.status == 1 and "Gather" in ran.err
    # The iteration before it is complete.
    ran = command(capsys, "extract", path, "--iteration", "3", *words, "--force")
    assert ran.status == 0 and "the same bits by itself" in ran.out


def test_last_iteration_may_be_a_failing_one(tmp_path: Path, capsys: Any) -> None:
    path = save_text_model(tmp_path, FAILING)
    np.savez(tmp_path / "in.npz", M=np.int64(9), x=np.ones((4, 2), np.float32), h=np.zeros(2, np.float32))
    words = ("--inputs", tmp_path / "in.npz", "-o", tmp_path / "part", "--json")
    report = json.loads(command(capsys, "extract", path, "--iteration", "last", *words).out)
    assert report["iteration"] == 4
    assert (len(report["outputs"]), len(report["expected"])) == (2, 1)
    assert "Gather" in report["failure"]


def test_extract_at_failed_node_takes_that_iteration(tmp_path: Path, capsys: Any) -> None:
    path = save_text_model(tmp_path, FAILING)
    np.savez(tmp_path / "in.npz", M=np.int64(9), x=np.ones((4, 2), np.float32), h=np.zeros(2, np.float32))
    words = ("--inputs", tmp_path / "in.npz", "-ex", "continue", "-ex", f"extract {tmp_path / 'part'}", "--batch")
    ran = command(capsys, "run", path, *words)
    assert "wrote iteration 4 of loop" in ran.out and "it fails by itself" in ran.out
