"""Loops of OpenVINO IRs, and iterations of them, extracted as IRs of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from lxml import etree
from openvino import opset6
from openvino import opset13 as op

import loopdbg
from cli_runner import run_cli as command
from error_fields import raises_error
from extraction_checks import check_openvino_agrees, extract_every_part
from ir_builder import TRUE, IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry
from loopdbg.debugger.extract.capture_runs import CaptureRuns
from loopdbg.debugger.extract.extract_loop import extract, find_loop
from loopdbg.runtime.errors import Remedy, UnsupportedError
from text_models import SAMPLES, random_floats, sample

NAMES = sorted(path.name for path in SAMPLES.glob("*.xml") if path.stem != "loop_infinite")


@pytest.mark.parametrize("name", NAMES)
def test_every_loop_of_the_sample_models(name: str, tmp_path: Path) -> None:
    loaded, inputs = sample(name)
    kinds = set()
    for item in extract_every_part(loaded, inputs, tmp_path):
        kinds.add(item.iteration is None)
        check_openvino_agrees(item)
    assert kinds == {True, False}


def test_layers_are_kept_unchanged(tmp_path: Path) -> None:
    loaded, inputs = sample("lstm.xml")
    runs = CaptureRuns(loaded, inputs)
    place = runs.first_entry(find_loop(loaded, None))
    source = etree.parse(SAMPLES / "lstm.xml").getroot()
    result = extract(runs, place, None, tmp_path / "all")
    outcome = etree.parse(result.model).getroot()
    assert outcome.get("version") == source.get("version")
    (mine,), (theirs,) = (root.findall("layers/layer[@type='TensorIterator']") for root in (outcome, source))
    for tag in ("port_map", "back_edges", "input", "output"):
        assert etree.tostring(mine.find(tag)).split() == etree.tostring(theirs.find(tag)).split()
    first = etree.parse(extract(runs, place, 3, tmp_path / "one").model).getroot()
    kept = [(layer.get("id"), layer.get("name"), layer.get("type")) for layer in first.find("layers")]
    assert kept == [(layer.get("id"), layer.get("name"), layer.get("type")) for layer in theirs.find("body/layers")]


def test_only_needed_constants_are_included(tmp_path: Path) -> None:
    loaded, inputs = sample("lstm.xml")
    runs = CaptureRuns(loaded, inputs)
    result = extract(runs, runs.first_entry(find_loop(loaded, None)), 0, tmp_path / "part")
    root = etree.parse(result.model).getroot()
    blobs = [layer.find("data") for layer in root.iter("layer") if layer.get("type") == "Const"]
    size = result.model.with_suffix(".bin").stat().st_size
    assert 0 < size < (SAMPLES / "lstm.bin").stat().st_size + 64 * len(blobs)
    assert blobs and all(int(blob.get("offset")) + int(blob.get("size")) <= size for blob in blobs)


def stepping(path: Path, step: Callable[[Any], Any], sinks: Callable[[Any], list[Any]] = lambda new: []) -> Path:
    """An IR with a TensorIterator over the rows of x, whose carried value becomes ``step`` of it and of the row."""
    x = op.parameter([3, 2], np.float32, name="x")
    part, h = op.parameter([1, 2], np.float32, name="row"), op.parameter([1, 2], np.float32, name="h")
    new = step(op.add(h, part))
    last = op.result(new)
    loop = op.tensor_iterator()
    loop.set_function(openvino.Model([last], sinks(new), [part, h], "body"))
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(h, op.constant(np.ones((1, 2), np.float32)).output(0), last.output(0))
    ends = op.result(loop.get_iter_value(last.output(0), -1), name="ends")
    openvino.save_model(openvino.Model([ends], [x], "m"), path, compress_to_fp16=False)
    return path


def test_random_numbers_become_inputs_of_an_iteration(tmp_path: Path) -> None:
    def noisy(h: Any) -> Any:
        shape, low, high = (op.constant(np.array(item)) for item in ([2], np.float32(0), np.float32(1)))
        return op.add(h, op.random_uniform(shape, low, high, "f32", 1, 2))

    loaded = loopdbg.load(stepping(tmp_path / "m.xml", noisy))
    runs = CaptureRuns(loaded, {"x": random_floats(3, 2)})
    place = runs.first_entry(find_loop(loaded, None))
    result = extract(runs, place, 2, tmp_path / "part")
    assert len(result.inputs) == 3
    check_openvino_agrees(result)
    with raises_error(UnsupportedError, op_type="RandomUniform", remedy=Remedy.ONE_ITERATION):
        extract(runs, place, None, tmp_path / "all")


def test_use_of_variables_is_refused(tmp_path: Path) -> None:
    def kept(h: Any) -> Any:
        begin = op.constant(np.zeros((1, 2), np.float32))
        return op.add(h, opset6.read_value(begin, "v", openvino.Type.f32, openvino.PartialShape([1, 2])))

    loaded = loopdbg.load(stepping(tmp_path / "m.xml", kept, lambda new: [opset6.assign(new, "v")]))
    runs = CaptureRuns(loaded, {"x": random_floats(3, 2)})
    with raises_error(UnsupportedError, got="variables"):
        extract(runs, runs.first_entry(find_loop(loaded, None)), 0, tmp_path / "part")


def test_decompressed_weights_are_included(tmp_path: Path) -> None:
    """Values computed from constants alone outside a loop are kept; here an invariant input is a Convert."""
    x = op.parameter([3, 2], np.float32, name="x")
    part, h, w = (op.parameter([1, 2], np.float32, name=name) for name in ("row", "h", "w"))
    last = op.result(op.add(op.multiply(h, w), part))
    loop = op.tensor_iterator()
    loop.set_function(openvino.Model([last], [part, h, w], "body"))
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(h, op.constant(np.ones((1, 2), np.float32)).output(0), last.output(0))
    loop.set_invariant_input(w, op.convert(op.constant(np.full((1, 2), 3, np.float16)), "f32").output(0))
    ends = op.result(loop.get_iter_value(last.output(0), -1), name="ends")
    openvino.save_model(openvino.Model([ends], [x], "m"), tmp_path / "m.xml", compress_to_fp16=False)
    loaded = loopdbg.load(tmp_path / "m.xml")
    kinds = [
        (item.iteration, len(item.inputs)) for item in extract_every_part(loaded, {"x": random_floats(3, 2)}, tmp_path)
    ]
    assert kinds == [(None, 1), (0, 3), (1, 3), (2, 3)]
    whole = next(extract_every_part(loaded, {"x": random_floats(3, 2)}, tmp_path))
    assert "Convert" in [layer.get("type") for layer in etree.parse(whole.model).getroot().find("layers")]
    check_openvino_agrees(whole)


def test_command_writes_an_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = command(capsys, "extract", SAMPLES / "lstm.xml", "--iteration", "last", "-o", tmp_path / "part")
    assert ran.status == 0 and "iteration 24 of loop 'rnn'" in ran.out
    part = tmp_path / "part" / "model.xml"
    again = command(capsys, "run", part, "--expect", part.with_suffix(".outputs.npz"))
    assert again.status == 0 and "all 3 outputs are as in" in again.err


def test_failing_iteration_is_written_with_the_values_computed_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = IrNetBuilder()
    start = net.parameter("6", name="start")
    body = net.body_builder()
    number, h = body.parameter("1", "i64", name="number"), body.parameter("6", name="h")
    keep = body.constant(np.array([True]), name="keep")
    item, rest = (body.constant(np.array([k])) for k in (1, -1))
    rows = body.layer("Add", [number, item], name="rows")
    shape = body.layer("Concat", [rows, rest], data='axis="0"', name="shape")
    # Six elements do not make four rows.
    cut = body.layer("Reshape", [h, shape], data='special_zero="false"', shape="?,?", name="cut")
    flat = body.layer("Reshape", [cut, rest], data='special_zero="false"', shape="6", name="flat")
    new = body.layer("Sin", [flat], shape="6", name="new")
    results = [body.result(entry) for entry in (keep, rows, new)]
    entries = [
        input_map_entry(2, h),
        input_map_entry(-1, number, 'purpose="current_iteration"'),
        output_map_entry(3, results[2]),
    ]
    entries.append(output_map_entry(-1, results[0], 'purpose="execution_condition"'))
    parts = loop_sections(body, entries, back_edges((results[2], h)))
    fed = [net.constant(np.int64(9), name="trips"), net.constant(TRUE, name="true"), start]
    loop = net.layer("Loop", fed, 1, name="counting", version="opset5", shape="6", extra=parts)
    net.result((loop, 3), name="y")
    inputs = ("--input", "start=[1, 2, 3, 4, 5, 6]", "--iteration", "last", "-o", tmp_path / "part")
    ran = command(capsys, "extract", net.save(tmp_path), *inputs)
    assert ran.status == 0, ran.err
    assert ran.out.startswith("wrote iteration 3 of loop 'counting'") and "it fails by itself as in the run" in ran.out
    result = loopdbg.load(tmp_path / "part" / "model.xml")
    with np.load(tmp_path / "part" / "model.outputs.npz") as known:
        assert {port.name for port in result.outputs} - set(known) == {"new"}
        np.testing.assert_array_equal(known["rows"], [4])
