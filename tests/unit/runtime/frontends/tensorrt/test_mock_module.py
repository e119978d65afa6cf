"""The module that scripts import: enums, shapes, weights, builder, config, profiles, views of layers, OnnxParser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.mock_module import mock_tensorrt
from loopdbg.runtime.frontends.tensorrt.script_location import ArgumentError
from loopdbg.runtime.model import load

from .network_scripts import HEAD, SCRIPT, load_script

SAMPLES = Path(__file__).parents[5] / "sample_models"


@pytest.fixture
def trt() -> Iterator[Any]:
    with mock_tensorrt():
        import tensorrt  # type: ignore[import-not-found]

        yield tensorrt


def test_enums_are_as_those_of_the_bindings(trt: Any) -> None:
    kind = trt.TripLimit
    assert (kind.COUNT.value, int(kind.WHILE), kind(1), kind.COUNT.name) == (0, 1, kind.WHILE, "COUNT")
    assert (str(kind.COUNT), repr(kind.COUNT)) == ("TripLimit.COUNT", "<TripLimit.COUNT: 0>")
    assert (kind.COUNT == 0, kind.COUNT == trt.LoopOutput.LAST_VALUE, kind.COUNT != None) == (False, False, True)  # noqa: E711
    assert list(kind.__members__) == ["COUNT", "WHILE"]
    assert {kind.COUNT: 1}[kind(0)] == 1
    flags = 1 << int(trt.BuilderFlag.FP16) | 1 << int(trt.BuilderFlag.STRIP_PLAN)
    assert flags == 1 | 1 << 19
    assert trt.BuilderFlag.WEIGHTLESS is trt.BuilderFlag.STRIP_PLAN
    assert trt.Logger.ERROR < trt.Logger.WARNING
    assert trt.Logger.Severity.VERBOSE is trt.Logger.VERBOSE
    with pytest.raises(ValueError, match="7 is not a valid TripLimit"):
        kind(7)


def test_types(trt: Any) -> None:
    assert trt.float32 is trt.DataType.FLOAT
    assert trt.nptype(trt.int32) is np.int32
    assert trt.nptype(trt.bool) is np.bool_
    with pytest.raises(TypeError, match="NumPy has no type"):
        trt.nptype(trt.bfloat16)
    assert [trt.float32.itemsize, trt.int64.itemsize, trt.int4.itemsize] == [4, 8, 0.5]
    assert trt.volume((2, 3)) == 6
    assert trt.volume(()) == 1
    assert int(trt.__version__.split(".")[0]) == 10


def test_dims(trt: Any) -> None:
    dims = trt.Dims([2, -1])
    assert (len(dims), dims[-1], dims[:1], str(dims), dims == (2, -1), dims == [2, -1]) == (
        2,
        -1,
        (2,),
        "(2, -1)",
        True,
        True,
    )
    dims[0] = 5
    assert list(dims) == [5, -1]
    assert (tuple(trt.Dims3(1, 2, 3)), tuple(trt.Dims2((4, 5))), trt.DimsHW((6, 7)).w) == ((1, 2, 3), (4, 5), 7)
    assert len(trt.Dims4()) == 4
    with pytest.raises(ValueError, match="at most 8"):
        trt.Dims([1] * 9)
    with pytest.raises(ValueError, match="has 3 dimensions"):
        trt.Dims3((1, 2))
    with pytest.raises(IndexError):
        dims[2]
    assert len(trt.Permutation([1, 0])) == 8
    assert list(trt.Permutation([1, 0]))[:2] == [1, 0]


def test_weights(trt: Any) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    weights = trt.Weights(array)
    assert (weights.dtype, weights.size, weights.nbytes, len(weights)) == (trt.float32, 6, 24, 6)
    assert weights.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert (trt.Weights().size, trt.Weights(trt.float16).dtype) == (0, trt.float16)
    copied = trt.Weights(trt.float32, array.ctypes.data, array.size)
    assert copied.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    for wrong, error in (
        (array.T, ValueError),
        (np.zeros(2), ValueError),
        ([1.0], TypeError),
        (np.float32(1), TypeError),
    ):
        with pytest.raises(error):
            trt.Weights(wrong)


def network(trt: Any, flags: int = 0) -> Any:
    return trt.Builder(trt.Logger()).create_network(flags)


def test_the_config_keeps_what_scripts_read_back(trt: Any) -> None:
    with trt.Builder(trt.Logger(trt.Logger.ERROR)) as builder, builder.create_builder_config() as config:
        assert config.get_flag(trt.BuilderFlag.TF32)
        config.set_flag(trt.BuilderFlag.FP16)
        config.clear_flag(trt.BuilderFlag.TF32)
        assert config.flags == 1
        config.flags = 1 << int(trt.BuilderFlag.DEBUG)
        assert config.get_flag(trt.BuilderFlag.DEBUG)
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
        assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 30
        config.builder_optimization_level = 5
        assert (config.builder_optimization_level, config.avg_timing_iterations) == (5, 1)
        cache = config.create_timing_cache(b"")
        assert config.set_timing_cache(cache, ignore_mismatch=False)
        assert bytes(config.get_timing_cache().serialize()) == b""
        config.set_preview_feature(trt.PreviewFeature.PROFILE_SHARING_0806, True)
        assert config.get_preview_feature(trt.PreviewFeature.PROFILE_SHARING_0806)
        profile = builder.create_optimization_profile()
        assert profile
        profile.set_shape(input="x", min=(1, 2), opt=(3, 2), max=(4, 2))
        assert profile.get_shape("x") == [(1, 2), (3, 2), (4, 2)]
        assert (config.add_optimization_profile(profile), config.num_optimization_profiles) == (0, 1)
        with pytest.raises(ValueError, match="in order"):
            profile.set_shape("x", (5,), (3,), (4,))
        with pytest.raises(ValueError, match="not one rank"):
            profile.set_shape("x", (5,), (3, 2), (4,))
        with pytest.raises(AttributeError, match=r"max_workspace_size was removed.*set_memory_pool_limit"):
            config.max_workspace_size = 1
        with pytest.raises(AttributeError, match="max_batch_size was removed"):
            builder.max_batch_size = 1


def test_loggers(trt: Any, capsys: pytest.CaptureFixture[str]) -> None:
    class Own(trt.ILogger):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, msg: str) -> None:
            print(severity, msg)

    assert trt.Builder(Own()).logger is not None
    logger = trt.Logger(trt.Logger.WARNING)
    logger.log(trt.Logger.INFO, "dropped message")
    logger.log(trt.Logger.ERROR, "read")
    message = capsys.readouterr()
    assert "read" in message.err
    assert "dropped message" not in message.err + message.out
    assert trt.init_libnvinfer_plugins(logger, "")


def test_networks(trt: Any) -> None:
    net = network(trt, 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    assert (net.flags, net.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)) == (2, True)
    assert net.name == "Unnamed Network 0"
    x = net.add_input(name="x", dtype=trt.float32, shape=(-1, 3))
    x.set_dimension_name(0, "batch")
    assert (x.get_dimension_name(0), tuple(x.shape), x.is_network_input) == ("batch", (-1, 3), True)
    layer = net.add_identity(x)
    assert layer.name == "(Unnamed Layer* 0) [Identity]"
    assert layer.get_output(0).name == "(Unnamed Layer* 0) [Identity]_output"
    assert layer.get_output(1) is None
    assert layer.get_input(0) is x
    with pytest.raises(ModelError, match="strongly typed network"):
        layer.set_output_type(0, trt.float16)
    layer.set_output_type(0, trt.float32)
    with raises_error(ModelError, name="x"):
        net.mark_output(x)
    with raises_error(ArgumentError, name="mark_output", expected="ITensor", got="IIdentityLayer"):
        net.mark_output(layer)
    with pytest.raises(TypeError, match="takes flags as a number"):
        network(trt, trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH.name)
    assert (net.num_inputs, net.num_layers, net.num_outputs, len(net)) == (1, 1, 0, 1)
    with pytest.raises(IndexError):
        net[1]


def test_a_layer_out_of_a_network_is_a_view_whose_class_can_be_assigned(trt: Any) -> None:
    net = network(trt)
    x = net.add_input("x", trt.float32, (2, 3))
    result = net.add_activation(x, trt.ActivationType.RELU)
    shuffle = net.add_shuffle(result.get_output(0))
    view = net[0]
    assert type(view) is trt.ILayer
    assert view.type == trt.LayerType.ACTIVATION
    assert view == result == net.get_layer(0)
    assert {view: 1}[result] == 1
    view.__class__ = trt.IActivationLayer
    assert view.type == trt.ActivationType.RELU
    view.type = trt.ActivationType.TANH
    assert result.type == trt.ActivationType.TANH
    with raises_error(ArgumentError, expected="IShuffleLayer", got="IActivationLayer"):
        net[0].__class__ = trt.IShuffleLayer
    last = net[-1]
    last.set_input(1, net.add_constant((1,), np.array([-1], np.int32)).get_output(0))
    assert shuffle.num_inputs == 2
    assert [layer.type for layer in net] == [trt.LayerType.ACTIVATION, trt.LayerType.SHUFFLE, trt.LayerType.CONSTANT]


def test_set_output_type_of_an_identity_converts(tmp_path: Path) -> None:
    text = f"""{HEAD}
def build(network):
    x = network.add_input("x", trt.float32, (3,))
    layer = network.add_identity(x)
    layer.set_output_type(0, trt.bool)
    layer.get_output(0).dtype = trt.bool
    layer.get_output(0).name = "y"
    assert layer.output_type_is_set(0) and layer.get_output_type(0) == trt.bool
    network.mark_output(layer.get_output(0))
"""
    got = load_script(tmp_path, text).run({"x": np.array([0, 1, -2], np.float32)})["y"]
    assert got.tolist() == [False, True, True]
    assert got.dtype == np.bool_


def test_a_layer_whose_arguments_are_refused_is_not_there(trt: Any) -> None:
    net = network(trt)
    x = net.add_input("x", trt.float32, (2,))
    for _ in range(2):
        with pytest.raises(TypeError):
            net.add_slice(x, (0.5,), (1,), (1,))
    assert net.num_layers == 0


# -- OnnxParser

PARSE = """
import sys
logger = trt.Logger(trt.Logger.WARNING)
with trt.Builder(logger) as builder, builder.create_network() as network, trt.OnnxParser(network, logger) as parser:
    {}
    for k in range(parser.num_errors):
        print(parser.get_error(k).desc(), file=sys.stderr)
    if not done:
        sys.exit("not parsed")
"""


@pytest.mark.parametrize("name", ["newton_sqrt", "greedy_decoder", "collatz", "counter"])
@pytest.mark.parametrize("how", ["parser.parse_from_file({0!r})", "parser.parse(open({0!r}, 'rb').read())"])
def test_the_parser_reads_onnx(name: str, how: str, tmp_path: Path) -> None:
    file = SAMPLES / f"{name}.onnx"
    with np.load(SAMPLES / f"{name}.inputs.npz") as result:
        inputs = dict(result)
    model = load_script(tmp_path, HEAD + PARSE.format("done = " + how.format(str(file))))
    want = load(file).run(inputs)
    got = model.run(inputs)
    assert got.keys() == want.keys()
    for key, value in want.items():
        assert np.array_equal(got[key], value)
    # An LSTM that became loops and the like: the same loops too.
    assert [loop.name for loop in model.loops] == [loop.name for loop in load(file).loops]


def test_layers_can_be_added_to_what_was_parsed(tmp_path: Path) -> None:
    file = SAMPLES / "newton_sqrt.onnx"
    text = (
        HEAD
        + PARSE.format(f"done = parser.parse_from_file({str(file)!r})")
        + """
    root = network.get_output(0)
    assert network.num_inputs == 2 and root.name == "root" and root.dtype == trt.float32, root
    y = network.add_unary(root, trt.UnaryOperation.NEG).get_output(0)
    y.name = "negative"
    network.unmark_output(root)
    network.mark_output(y)
"""
    )
    got = load_script(tmp_path, text).run({"a": np.float32(4), "tol": np.float32(1e-6)})
    assert got["negative"] == pytest.approx(-2)
    assert "root" not in got


def test_parser_reports_parse_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    for how in ("parser.parse(b'no model')", "parser.parse_from_file('gone.onnx')", "parser.parse(b'')"):
        with pytest.raises(ModelError, match="the script ended itself with"):
            load_script(tmp_path, HEAD + PARSE.format(f"done = {how}"))
        assert capfd.readouterr().err.strip()
    nodes = [onnx.helper.make_node("Add", ["x", "gone"], ["y"])]
    value = onnx.helper.make_tensor_value_info("x", 1, [2])
    out = onnx.helper.make_tensor_value_info("y", 1, [2])
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [value], [out]))
    with pytest.raises(ModelError, match="not parsed"):
        load_script(tmp_path, HEAD + PARSE.format(f"done = parser.parse({model.SerializeToString()!r})"))
    assert "gone" in capfd.readouterr().err


# -- profiles


def test_profiles_give_usual_sizes_and_values(tmp_path: Path) -> None:
    text = f"""{SCRIPT}
def build(network, builder, config):
    network.add_input("n", trt.int32, ())
    fill(network)
    network.get_input(1).shape = (-1,)
    for k in (3, 5):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (1,), (k,), (9,))
        profile.set_shape_input("n", [1], [k + 1], [9])
        config.add_optimization_profile(profile)
"""
    graph = load_script(tmp_path, text).graph
    assert graph.usual_shapes == {"x": (3,)}
    assert {name: value.tolist() for name, value in graph.usual_values.items()} == {"n": 4}
    assert graph.usual_values["n"].dtype == np.int32


# -- all of it together


def test_every_layer_class_is_in_the_module(trt: Any) -> None:
    kinds = {name for name in dir(trt) if name.startswith("I") and name.endswith("Layer") and name != "ILayer"}
    assert len(kinds) > 45
    assert all(issubclass(getattr(trt, name), trt.ILayer) for name in kinds)
    assert {"IAttention", "ILoop", "IIfConditional", "ITensor", "OnnxParser"} <= set(dir(trt))
    # What the network adds, TensorRT has.
    public = {name for name in dir(trt) if not name.startswith("_")}
    assert not public & {"load", "check", "lower", "validate", "array_of", "missing", "place"}


def test_an_engine_without_execution_is_described(tmp_path: Path) -> None:
    text = f"""{SCRIPT}
logger = trt.Logger()
builder = trt.Builder(logger)
network = builder.create_network()
fill(network)
engine = builder.build_engine_with_config(network, builder.create_builder_config())
names = [engine.get_tensor_name(k) for k in range(engine.num_io_tensors)]
assert names == ["x", "y"]
assert [engine.get_tensor_mode(name) for name in names] == [trt.TensorIOMode.INPUT, trt.TensorIOMode.OUTPUT]
assert engine.get_tensor_shape("y") == (2,) and engine.get_tensor_dtype("y") == trt.float32
with engine.create_execution_context() as context:
    raise RuntimeError
"""
    notes = load_script(tmp_path, text).graph.notes
    assert "ICudaEngine.create_execution_context needs an engine" in notes[-1]
