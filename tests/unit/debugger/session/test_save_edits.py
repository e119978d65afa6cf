"""The edits of a branch, saved in a copy of the model's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import loopdbg
import onnxruntime_peer
import openvino_peer
from cli_runner import save_text_model as saved
from error_fields import raises_error
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.runtime.errors import ModelError, UsageError
from loopdbg.runtime.frame import frame_reader
from recordings import record_run
from text_models import NESTED, model, proto, sample

CELL = """
cell (float[2] x, int64 M) => (float[2] y, float[2] z)
<float[2] w = {2, 3}, float[2] b = {1, 1}> {
  begin = Identity (x)
  y = Loop <body = body (int64 i, bool c, float[2] h) => (bool keep, float[2] h_next) {
    keep = Identity (c)
    half = Constant <value = float {0.5}> ()
    a = Mul (h, w)
    h_next = Mul (a, half)
  }> (M, , begin)
  z = Add (y, b)
}
"""
INPUTS = {"x": np.array([1, 2], np.float32), "M": np.int64(3)}


def session_of(path: Path, inputs: Mapping[str, Any] = INPUTS) -> loopdbg.Session:
    return loopdbg.Session(loopdbg.load(path), inputs)


def gives_the_same(session: loopdbg.Session, path: Path, inputs: Mapping[str, Any] = INPUTS) -> dict[str, Any]:
    """The saved model, run from the start, gives the bits of the branch; returns its outputs."""
    session.continue_()
    outputs = loopdbg.load(path).run(inputs)
    assert session.outputs is not None and outputs.keys() == session.outputs.keys()
    for name, value in outputs.items():
        assert value.tobytes() == session.outputs[name].tobytes(), name
    return outputs


@pytest.mark.parametrize(
    ("edits", "y"),
    [
        (["w[1] = 1"], [1, 0.25]),
        (["half = 2"], [64, 432]),
        (["half = 2", "half = half_now"], [8, 54]),
        (["h = 0 * h"], [0, 0]),
        (["trip_count = 1"], [1, 3]),
        (["b = b + 1", "trip_count = 5"], [1, 15.1875]),
    ],
)
def test_saved_model_gives_the_bits_of_the_branch(edits: list[str], y: list[float], tmp_path: Path) -> None:
    session = session_of(saved(tmp_path, CELL))
    for edit in edits:
        session.assign(edit.replace("half_now", "1"))
    files = session.save(tmp_path / "fixed.onnx")
    assert files == [tmp_path / "fixed.onnx"]
    onnx.checker.check_model(files[0])
    outputs = gives_the_same(session, files[0])
    assert outputs["y"].tolist() == y
    np.testing.assert_array_equal(onnxruntime_peer.run(files[0], INPUTS)["y"], outputs["y"])


def test_rest_of_the_model_is_unchanged(tmp_path: Path) -> None:
    source = proto(CELL)
    source.metadata_props.add(key="origin", value="here")
    source.graph.node[1].doc_string = "the loop"
    onnx.save(source, tmp_path / "m.onnx")
    session = session_of(tmp_path / "m.onnx")
    session.assign("w = 2 * w")
    result = onnx.load(session.save(tmp_path / "fixed.onnx")[0])
    (changed,) = (item for item in result.graph.initializer if item.name == "w")
    assert numpy_helper.to_array(changed).tolist() == [4, 6]
    changed.CopyFrom(source.graph.initializer[0])
    assert result == source


def test_edited_conditions(tmp_path: Path) -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    session = loopdbg.Session(loaded, inputs)
    session.set("cond", False)
    # Before iteration 0 it is the initial condition; later the loop gets a trip count that ends it there.
    outputs = gives_the_same(session, session.save(tmp_path / "a.onnx")[0], inputs)
    assert outputs["xs"].shape == (0,)
    session.restart()
    session.step(2)
    session.set("cond", False)
    assert gives_the_same(session, session.save(tmp_path / "b.onnx")[0], inputs)["xs"].shape == (2,)


def test_branch_of_a_branch(tmp_path: Path) -> None:
    session = session_of(saved(tmp_path, CELL))
    session.assign("h = 2 * h")
    session.step()
    session.assign("b = 0 * b")
    gives_the_same(session, session.save(tmp_path / "fixed.onnx")[0])
    session.undo()
    session.assign("trip_count = 2")
    gives_the_same(session, session.save(tmp_path / "other.onnx")[0])


def test_ir_with_its_constants(tmp_path: Path) -> None:
    loaded, inputs = sample("lstm.xml")
    session = loopdbg.Session(loaded, inputs)
    session.set("h", np.full_like(session.frame.carried["h"], 0.25))
    constant = next(name for name, value in frame_reader(session.frame).scope().items() if value.constant is not None
                    and value.constant.dtype == np.float32)  # fmt: skip
    session.assign(f"`{constant}` = `{constant}` * 0.5")
    files = session.save(tmp_path / "fixed.xml")
    assert files == [tmp_path / "fixed.xml", tmp_path / "fixed.bin"]
    outputs = gives_the_same(session, files[0], inputs)
    theirs = openvino_peer.run(files[0], [inputs[port.name] for port in loaded.inputs])
    for value, other in zip(outputs.values(), theirs, strict=True):
        np.testing.assert_allclose(other, value, rtol=1e-4, atol=1e-5)


def test_trip_count_and_condition_of_an_ir(tmp_path: Path) -> None:
    loaded, inputs = sample("loop_while.xml")
    for name, edit, iterations in (("a", "trip_count = 3", 3), ("b", "cond = false", 0)):
        session = loopdbg.Session(loaded, inputs)
        session.assign(edit)
        (path, _) = session.save(tmp_path / f"{name}.xml")
        gives_the_same(session, path, inputs)
        assert loopdbg.load(path).execute(inputs).loops[0].iterations == iterations
        openvino_peer.run(path, [inputs[port.name] for port in loaded.inputs])


def test_external_data_is_copied(tmp_path: Path) -> None:
    source = proto(CELL)
    for k, name in enumerate(("w", "b")):
        source.graph.initializer[k].CopyFrom(numpy_helper.from_array(np.array([2, 3], np.float32), name))
    onnx.save_model(source, tmp_path / "m.onnx", save_as_external_data=True, location="w.data", size_threshold=0)
    session = session_of(tmp_path / "m.onnx")
    session.assign("w[0] = 5")
    is_present = tmp_path / "there"
    is_present.mkdir()
    files = session.save(is_present / "fixed.onnx")
    assert files == [is_present / "fixed.onnx", is_present / "w.data"]
    gives_the_same(session, files[0])
    # In the model's own folder the same data files are shared.
    assert session.save(tmp_path / "fixed.onnx") == [tmp_path / "fixed.onnx"]
    (is_present / "w.data").write_bytes(b"another")
    with pytest.raises(ModelError, match="is there already, and the model keeps its data under that name"):
        session.save(is_present / "again.onnx")


def test_edits_inside_functions(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (int64 M, float x) => (float y) {{
          y0 = own.Steps (M, x)
          y = {second}
        }}
        <domain: "own", opset_import: ["" : 20]>
        Steps (count, begin) => (end) {{
          factor = Constant <value_float = 3.0> ()
          end = Loop <body = body (int64 i, bool c, float h) => (bool keep, float h_next) {{
            keep = Identity (c)
            h_next = Mul (h, factor)
          }}> (count, , begin)
        }}"""
    inputs = {"M": 2, "x": 1.0}
    for second, calls in (("Identity (y0)", 1), ("own.Steps (M, y0)", 2)):
        onnx.save(onnx.parser.parse_model(text.format(second=second)), tmp_path / "m.onnx")
        for edit in ("`Steps_0/h` = 2.0", "trip_count = 4"):
            session = session_of(tmp_path / "m.onnx", inputs)
            session.assign(edit)
            if calls == 1:
                gives_the_same(session, session.save(tmp_path / "fixed.onnx", force=True)[0], inputs)
                continue
            with pytest.raises(ModelError, match="is in the function 'Steps', which is called 2 times"):
                session.save(tmp_path / "fixed.onnx", force=True)


@pytest.mark.parametrize(
    ("moves", "edit", "why"),
    [
        (
            2,
            "h = 2 * h",
            "'h = .*' before iteration 2 of loop 'Loop_1' cannot be saved in a file: .*nothing of iteration 2",
        ),
        (1, "w = 2 * w", "Mul 'Mul_2' has read it by then"),
        (0, "x = 2 * x", "is an input of the model"),
        (0, "begin = 2 * begin", "Identity 'Identity_0' computes it"),
        (3, "cond = true", "has no condition"),
    ],
)
def test_inexpressible_edit_is_named(moves: int, edit: str, why: str, tmp_path: Path) -> None:
    session = session_of(saved(tmp_path, CELL))
    for _ in range(moves):
        session.step()
    with pytest.raises(UsageError, match=why):
        session.assign(edit)
        session.save(tmp_path / "fixed.onnx")
    assert not (tmp_path / "fixed.onnx").exists()


def test_entries_of_a_nested_loop_are_refused(tmp_path: Path) -> None:
    session = session_of(saved(tmp_path, NESTED), {"M": 3, "K": 2})
    while session.frame.index != 1:
        session.into()
    assert session.frame.entry == (0,) and session.frame.at_boundary
    session.assign("trip_count = 1")
    with pytest.raises(UsageError, match="'Loop_1' is entered again in each iteration of 'Loop_1'"):
        session.save(tmp_path / "fixed.onnx")


def test_unwritable_target_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, CELL)
    session = session_of(path)
    with pytest.raises(UsageError, match="nothing was changed"):
        session.save(tmp_path / "fixed.onnx")
    session.assign("h = 2 * h")
    other_suffix, other_folder = tmp_path / "fixed.xml", tmp_path / "no" / "fixed.onnx"
    with raises_error(UsageError, name=path, got="the model"):
        session.save(path, force=True)
    with raises_error(UsageError, name=other_suffix, expected=".onnx"):
        session.save(other_suffix, force=True)
    with raises_error(UsageError, name=other_folder.parent, expected="a folder"):
        session.save(other_folder, force=True)
    session.save(tmp_path / "fixed.onnx")
    with raises_error(UsageError, name=tmp_path / "fixed.onnx", expected="a new file"):
        session.save(tmp_path / "fixed.onnx")
    other = loopdbg.Session(model(CELL), INPUTS)
    other.assign("h = 2 * h")
    with raises_error(UsageError, name="cell"):
        other.save(tmp_path / "b.onnx")


def test_changed_file_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, CELL)
    session = session_of(path)
    session.assign("h = 2 * h")
    saved(tmp_path, NESTED)
    with raises_error(ModelError, name=path, got="a changed file"):
        session.save(tmp_path / "fixed.onnx")


def test_console_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded, inputs = sample("newton_sqrt.onnx")
    session, message = loopdbg.Session(loaded, inputs), []
    console = Console(session, message.append)
    console.run_lines(["set x = 3.0", "save fixed.onnx", "step 2", "extract part", "extract all all"])
    assert message[1] == "wrote fixed.onnx"
    assert "wrote iteration 2 of loop 'sqrt' as part/model.onnx: the same bits by itself" in message
    assert "wrote all iterations of loop 'sqrt' as all/model.onnx: the same bits by itself" in message
    # Edits of the branch are part of what is extracted from it.
    result = Path("all/test_data_set_0/input_1.pb").read_bytes()
    assert loopdbg.load("all/model.onnx").inputs[1].name == "x0"
    assert numpy_helper.to_array(onnx.TensorProto.FromString(result)) == 3
    for line, why in (("save", "save needs a file"), ("extract", "extract needs a folder"), ("extract a b", "but all")):
        with pytest.raises(UsageError, match=why):
            console.execute(line)


def test_recording_has_nothing_to_save(tmp_path: Path) -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    record_run(tmp_path / "t.loopdb", loaded, inputs)[0].close()
    with loopdbg.Trace.open(tmp_path / "t.loopdb") as trace:
        replay = loopdbg.Replay(trace)
        with raises_error(UsageError, name="saving a changed model"):
            replay.save(tmp_path / "fixed.onnx")
