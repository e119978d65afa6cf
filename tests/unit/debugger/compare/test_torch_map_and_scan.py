"""``map``, ``associative_scan`` and ``vmap`` of PyTorch: one steps as a loop, the others are no loops."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from text_models import load_proto, proto

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'loopdbg[torch]'")
pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript: pip install 'loopdbg[real]'")

from torch._higher_order_ops import while_loop  # noqa: E402
from torch._higher_order_ops.associative_scan import associative_scan  # noqa: E402
from torch._higher_order_ops.map import map as torch_map  # noqa: E402
from torch._higher_order_ops.scan import scan  # noqa: E402

from loopdbg.debugger.reference.torch_api import run_torch_reference  # noqa: E402
from loopdbg.debugger.reference.torch_export import suppress_output  # noqa: E402


class Mapped(torch.nn.Module):
    """A function of each row."""

    def forward(self, x, y):
        return torch_map(lambda row, y: torch.sin(row) + y, x * 2, y)


class ScannedModule(torch.nn.Module):
    """The same as the exporter takes it."""

    def forward(self, x, y):
        def step(carry, row):
            return carry.clone(), torch.sin(row) + y

        return scan(step, torch.zeros(()), x * 2)[1]


class Summed(torch.nn.Module):
    """A recurrence that runs without a loop, in as many steps as the length has bits."""

    def forward(self, x):
        return associative_scan(lambda a, b: a * 0.5 + b, x, 0, combine_mode="generic")


class Nested(torch.nn.Module):
    """A map in a loop."""

    def forward(self, x):
        def body(k, y):
            return k + 1, torch_map(lambda row: torch.tanh(row) * 1.5, y)

        return while_loop(lambda k, y: k < 3, body, (torch.tensor(0), x.clone()))[1]


class Picked(torch.nn.Module):
    """A column of each row, which need not be there."""

    def forward(self, x, k):
        return torch.vmap(lambda row: row.index_select(0, k))(x)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


INPUTS = {"x": drawn(4, 3), "y": drawn(3)}
SUMMED = {"x": drawn(5, 3)}
SCAN = """
g (float[4,3] x, float[3] y) => (float[4,3] z) <float two = {2.0}> {
  doubled = Mul (x, two)
  z = Scan <num_scan_inputs = 1, body = body (float[3] row) => (float[3] sum) {
    turned = Sin (row)
    sum = Add (turned, y)
  }> (doubled)
}"""


def tensors(inputs) -> tuple:
    return tuple(torch.from_numpy(array) for array in inputs.values())


def exported(module: torch.nn.Module, inputs, folder: Path) -> onnx.ModelProto:
    with suppress_output(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), tensors(inputs), dynamo=True, verbose=False).save(str(folder / "model.onnx"))
    return onnx.load(folder / "model.onnx")


@pytest.mark.parametrize("is_program", [False, True])
def test_a_map_that_cannot_be_exported_says_what_where_and_what_to_write(is_program):
    feeds, inputs = Mapped().eval(), tensors(INPUTS)
    if is_program:
        feeds, inputs = torch.export.export(feeds, inputs), None
    with suppress_output(), pytest.raises(loopdbg.ModelError) as raised:
        loopdbg.load(feeds, inputs=inputs)
    line = 1 + next(
        k for k, text in enumerate(Path(__file__).read_text().splitlines()) if "torch.sin(row) + y, x" in text
    )
    message = str(raised.value)
    assert f"has no function for map_impl, 'map_impl' ({__file__}:{line}): write map(f, x) as a scan" in message
    assert "\n" not in message


def test_the_scan_that_is_advised_is_the_map():
    x = torch.from_numpy(INPUTS["x"])
    rows = scan(lambda carry, row: (carry.clone(), torch.sin(row)), torch.zeros(()), x)[1]
    assert torch.equal(rows, torch_map(torch.sin, x))


def test_a_map_is_a_loop_that_carries_nothing():
    reference = run_torch_reference(Mapped(), INPUTS)
    assert reference.trips == {"map_impl": {(): 4}}
    tracks = {track.name: track for track in reference.tracks}
    assert list(tracks["map_impl/body/sin"].values) == [(0,), (1,), (2,), (3,)]
    with torch.no_grad():
        result = Mapped()(*tensors(INPUTS)).numpy()
    assert tracks["output 0"].values[()].tobytes() == result.tobytes()


def test_a_map_in_a_loop():
    reference = run_torch_reference(Nested(), {"x": INPUTS["x"]})
    assert reference.trips["while_loop/map_impl"] == {(0,): 4, (1,): 4, (2,): 4}


def test_a_map_of_no_rows_is_what_pytorch_says_of_it():
    with pytest.raises(loopdbg.ExecutionError, match="Leading dimensions of mapped xs cannot be 0"):
        run_torch_reference(Mapped(), {"x": drawn(0, 3), "y": INPUTS["y"]})


def test_exported_scan_matches_map(tmp_path):
    result = loopdbg.diff(load_proto(exported(ScannedModule(), INPUTS, tmp_path)), Mapped(), INPUTS)
    assert result.same
    assert [(loop.other, loop.iterations, loop.trips) for loop in result.loops] == [("map_impl", 4, (4, 4))]
    assert str(result).count("(metadata)") == 2


def test_handwritten_scan_matches_map():
    result = loopdbg.diff(load_proto(proto(SCAN)), Mapped(), INPUTS)
    assert result.same
    assert [(loop.other, loop.iterations) for loop in result.loops] == [("map_impl", 4)]


def test_a_wrong_node_of_such_a_scan_is_named_with_its_iteration_and_line():
    result = loopdbg.diff(load_proto(proto(SCAN.replace("Add (turned", "Sub (turned"))), Mapped(), INPUTS)
    assert not result.same
    assert (result.first.iteration, result.first.op_type) == (0, "Sub")
    assert result.first.source.startswith(__file__)


@pytest.fixture(scope="module")
def summed(tmp_path_factory) -> onnx.ModelProto:
    return exported(Summed(), SUMMED, tmp_path_factory.mktemp("summed"))


def computing(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type in ("Mul", "Add")]


def test_an_associative_scan_is_compared_as_a_model_without_a_loop(summed):
    result = loopdbg.diff(load_proto(summed), Summed(), SUMMED)
    assert result.same and not result.loops
    messages = {track.node for track in run_torch_reference(Summed(), SUMMED).tracks}
    names = {node.name.removeprefix("node_") for node in computing(summed)}
    assert len(names) == 6
    assert names <= messages


@pytest.mark.parametrize("index", range(6))
def test_each_node_of_an_associative_scan_is_named_where_it_is_wrong(summed, index):
    model = copy.deepcopy(summed)
    node = computing(model)[index]
    node.op_type = "Sub"
    result = loopdbg.diff(load_proto(model), Summed(), SUMMED)
    assert not result.same
    # What PyTorch calls flatten is a view in the model, which is not distinguished from what reads it.
    assert node.name in result.first.nodes and set(result.first.nodes) <= {node.name, "node_view"}


def test_a_program_that_fails_in_vmap_is_not_left_there():
    inputs = {"x": drawn(4, 3), "k": np.array([0], np.int64)}
    program = torch.export.export(Picked(), tensors(inputs))
    with pytest.raises(loopdbg.ExecutionError, match="failed at"):
        run_torch_reference(program, {**inputs, "k": np.array([9], np.int64)})
    assert torch._C._functorch.maybe_current_level() is None
    assert run_torch_reference(program, inputs).tracks
