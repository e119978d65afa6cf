"""A body, an extracted part and a repro were each one protobuf message: a model with more than 2 GiB of constants ended
in `internal error: EncodeError`. Here the limit is so low that small constants are external data as well."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import pytest
from onnx import TensorProto, numpy_helper

import loopdbg
from cli_runner import run_cli as command
from error_fields import raises_error
from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.onnx_writer import make_onnx_job, model_with_trajectories
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.errors import ModelError, UsageError
from loopdbg.runtime.modelfile import onnx_storage
from loopdbg.runtime.modelfile.onnx_storage import (
    OnnxModel,
    TensorWriter,
    is_external,
    read_model,
    serialize_model,
    tensors,
    write_model,
)
from loopdbg.runtime.modelfile.scratch_folder import ScratchFolder
from text_models import proto, random_floats

ROWS, WIDTH = 40, 30
MODEL = f"""
decoder (int64 n, float[{WIDTH}] h0) => (float[{WIDTH}] h_end) {{
  h_end = Loop <body = body (int64 i, bool c, float[{WIDTH}] h) => (bool keep, float[{WIDTH}] h_next) {{
    keep = Identity (c)
    row = Gather (table, i)
    h_next = Add (h, row)
  }}> (n, , h0)
}}
"""
TABLE = random_floats(ROWS, WIDTH)


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_storage, "MAX_INLINE_BYTES", 2000)
    monkeypatch.setattr(onnx_storage, "MAX_COPIED_BYTES", 2000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model whose table is in another file, and inputs."""
    source = proto(MODEL)
    source.graph.initializer.append(numpy_helper.from_array(TABLE, "table"))
    onnx.save(source, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert (tmp_path / "m.onnx").stat().st_size < TABLE.nbytes
    np.savez(tmp_path / "in.npz", n=np.int64(4), h0=random_floats(WIDTH))
    return tmp_path


def everywhere() -> onnx.ModelProto:
    """A model with large tensors wherever there can be one."""
    value = numpy_helper.from_array(random_floats(20, 30))
    inner = onnx.helper.make_graph(
        [onnx.helper.make_node("Constant", [], ["inner"], value=value)],
        "inner",
        [],
        [onnx.helper.make_tensor_value_info("inner", 1, None)],
        [numpy_helper.from_array(np.arange(700, dtype=np.int64), "of the branch")],
    )
    nodes = [
        onnx.helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner),
        onnx.helper.make_node("f", [], ["z"], domain="own"),
    ]
    constant = onnx.helper.make_node("Constant", [], ["k"], value=value)
    function = onnx.helper.make_function("own", "f", [], ["k"], [constant], [onnx.helper.make_opsetid("", 17)])
    initializers = [
        numpy_helper.from_array(np.zeros((30, 101), ml_dtypes.int4) + ml_dtypes.int4(3), "packed"),
        numpy_helper.from_array(np.array(["s"] * 3000, object), "strings"),
        numpy_helper.from_array(random_floats(3), "small"),
    ]
    c = onnx.helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    outputs = [onnx.helper.make_tensor_value_info(name, 1, None) for name in "yz"]
    graph = onnx.helper.make_graph(nodes, "everywhere", [c], outputs, initializers)
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("own", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, functions=[function])


def test_large_tensors_are_written_next_to_the_model(tmp_path: Path) -> None:
    model = everywhere()
    before = model.SerializeToString(deterministic=True)
    write_model(OnnxModel(model), tmp_path / "m.onnx")
    assert model.SerializeToString(deterministic=True) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    written = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    # In two branches a constant and an initializer, the function's constant, the packed one.
    assert sum(map(is_external, tensors(written))) == 6
    again = onnx.load(tmp_path / "m.onnx")
    for tensor, other in zip(tensors(model), tensors(again), strict=True):
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), numpy_helper.to_array(other))


def test_external_data_are_copied_when_a_model_is_written(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.mkdir()
    model = read_model(folder / "m.onnx")
    assert model.folder == folder and serialize_model(model) is None
    write_model(model, target / "other.onnx")
    assert np.array_equal(numpy_helper.to_array(onnx.load(target / "other.onnx").graph.initializer[0]), TABLE)


def test_a_model_can_be_written_over_the_files_it_was_read_from(folder: Path) -> None:
    (folder / "m.data").rename(folder / "m.onnx.data")
    source = onnx.load(folder / "m.onnx", load_external_data=False)
    source.graph.initializer[0].external_data[0].value = "m.onnx.data"
    (folder / "m.onnx").write_bytes(source.SerializeToString())
    write_model(read_model(folder / "m.onnx"), folder / "m.onnx")
    assert np.array_equal(numpy_helper.to_array(onnx.load(folder / "m.onnx").graph.initializer[0]), TABLE)
    assert sorted(path.name for path in folder.iterdir()) == ["in.npz", "m.onnx", "m.onnx.data"]


def test_external_data_that_are_too_short_are_one_line(folder: Path) -> None:
    model = read_model(folder / "m.onnx")
    (folder / "m.data").write_bytes(b"short")
    before = sorted(folder.iterdir())
    with pytest.raises(ModelError, match="the data of 'table' cannot be read"):
        write_model(model, folder / "other.onnx")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "bfloat16", "float8_e4m3fn", "int4"])
def test_arrays_beyond_the_limit_go_to_a_scratch_folder(dtype: str) -> None:
    array = (np.arange(5000) % 5).astype(getattr(ml_dtypes, dtype, dtype)).reshape(50, 100)[:, ::2]
    writer = TensorWriter()
    graph = onnx.helper.make_graph([], "g", [], [], [writer.tensor(array, "first"), writer.tensor(array, "second")])
    model = writer.model(onnx.helper.make_model(graph))
    assert model.folder is not None
    for tensor in model.proto.graph.initializer:
        read = numpy_helper.to_array(tensor, str(model.folder))
        np.testing.assert_array_equal(read, array, strict=True)


def test_models_that_share_a_scratch_folder_share_the_data() -> None:
    scratch = ScratchFolder()
    offsets = []
    for _ in range(2):
        writer = TensorWriter(scratch)
        graph = onnx.helper.make_graph([], "g", [], [], [writer.tensor(TABLE, "table")])
        tensor = writer.model(onnx.helper.make_model(graph)).proto.graph.initializer[0]
        np.testing.assert_array_equal(numpy_helper.to_array(tensor, str(scratch.path)), TABLE, strict=True)
        offsets.append([entry.value for entry in tensor.external_data])
    assert offsets[0] == offsets[1]
    assert (scratch.path / "tensors.data").stat().st_size == TABLE.nbytes


def test_a_scratch_folder_that_cannot_be_written_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not there"))
    with raises_error(UsageError, name=tmp_path / "not there", expected="a folder with more space"):
        TensorWriter().tensor(TABLE, "table")


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_peer_reads_the_file_of_a_job(folder: Path, runtime: str) -> None:
    model = loopdbg.load(folder / "m.onnx")
    inputs = {"n": np.array(4), "h0": random_floats(WIDTH)}
    job = make_onnx_job(model_with_trajectories(model.graph, {}))
    path = Path(job.path)
    assert not job.data and path.exists()
    sent = pickle.loads(pickle.dumps(job))
    assert isinstance(sent, OnnxJob) and sent.scratch is None and sent.path == job.path
    with Peer(runtime) as peer:
        (got,) = peer.open(job).run(inputs)
    np.testing.assert_allclose(got, model.run(inputs)["h_end"], rtol=1e-6)
    del job
    gc.collect()
    assert not path.parent.exists()


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_diff_hands_bodies_to_a_peer(
    folder: Path, runtime: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[OnnxJob] = []
    original = Peer.open

    def spy(self: Peer, job: OnnxJob) -> object:
        opened.append(job)
        return original(self, job)

    monkeypatch.setattr(Peer, "open", spy)
    ran = command(capsys, "diff", folder / "m.onnx", "--against", runtime, "--inputs", folder / "in.npz")
    assert (ran.status, ran.err) == (0, ""), ran
    assert len(opened) > 1 and all(job.path and not job.data for job in opened)


@pytest.mark.parametrize("iteration", [[], ["--iteration", "1"]], ids=["loop", "iteration"])
def test_extract_writes_external_data(folder: Path, iteration: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs, out = folder / "m.onnx", folder / "in.npz", folder / "out"
    ran = command(capsys, "extract", model, "--inputs", inputs, "-o", out, *iteration)
    assert (ran.status, ran.err) == (0, ""), ran
    assert (out / "model.onnx").stat().st_size < TABLE.nbytes <= (out / "model.onnx.data").stat().st_size
    ran = command(capsys, "run", out / "model.onnx")
    assert ran.status == 0 and "as in" in ran.err


def test_repro_finds_nothing_where_a_peer_agrees(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs, out = folder / "m.onnx", folder / "in.npz", folder / "out"
    ran = command(capsys, "repro", model, "--against", "onnxruntime", "--inputs", inputs, "-o", out)
    assert ran.status == 8 and "nothing to reproduce" in ran.error_line


def test_repro_writes_external_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs, out = folder / "m.onnx", folder / "in.npz", folder / "out"
    ran = command(
        capsys, "repro", model, "--break", "sum(h_next) > -1e9", "--inputs", inputs, "-o", out, "--max-tests", 1
    )
    assert ran.status == 0 and "show it again" in ran.out, ran
    assert (out / "model.onnx").stat().st_size < TABLE.nbytes <= (out / "model.onnx.data").stat().st_size
    assert f"{{... {TABLE.size} elements}}" in (out / "README.md").read_text()
