"""Models converted to TensorRT network code carry the same values in every iteration, and give the same outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.tensorrt_export.network_writer import to_tensorrt_script
from loopdbg.runtime.errors import LoopdbgError, UnsupportedError
from loopdbg.runtime.graph import TensorType
from onnx_node_tests import load_node_tests
from random_program_checks import load_program
from strategies.draws import SeededChoices
from strategies.program_generator import draw_feeds, draw_program
from tensorrt_round_trip import convert_and_reload, first_difference, is_padded_copy, record_carried
from text_models import SAMPLES, load_proto, model, sample

from .single_node_tests import as_loopdbg_value

#: Samples that TensorRT cannot say, and the rule that says so.
REFUSED = {
    "mandelbrot.onnx": "a size that is known only at run time",
    "test_loop11.onnx": "how much it cuts is known only at run time",
    "loop_infinite.xml": "neither a trip count nor a condition",
}
_MODELS = sorted(path.name for path in SAMPLES.iterdir() if path.suffix in (".onnx", ".xml"))


def _round_trip(original: loopdbg.Model, inputs: dict[str, Any], folder: Path, exact: bool) -> None:
    is_present = convert_and_reload(original, inputs, folder)
    ours, outputs = record_carried(original, inputs)
    theirs, result = record_carried(is_present, inputs)
    if outputs is None:
        return  # what fails in one system need not in another: TensorRT computes only what is needed
    assert result is not None
    difference = first_difference(ours, theirs, exact)
    assert not difference, difference
    assert list(outputs) == list(result)
    for name, value in outputs.items():
        assert is_padded_copy(result[name], value, exact), (name, value, result[name])


@pytest.mark.parametrize("name", [name for name in _MODELS if name not in REFUSED])
def test_samples(name: str, tmp_path: Path) -> None:
    original, inputs = sample(name)
    _round_trip(original, inputs, tmp_path, exact=False)


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_tensorrt_cannot_say(name: str, tmp_path: Path) -> None:
    original, inputs = sample(name)
    with pytest.raises(UnsupportedError, match=REFUSED[name]):
        convert_and_reload(original, inputs, tmp_path)


#: Every reason to refuse a random model: the rule of TensorRT behind each.
_RULES = (
    r"both inputs of an IRecurrenceLayer have one (shape|type)",
    r"TensorRT has no (float64|string|uint8|sequences)",
    r"TensorRT multiplies matrices of floats alone",
    r"a size that is known only at run time",
    r"in TensorRT it is padded to a length",
    r"its sliced inputs disagree on the number of iterations",
    r"cannot be cut along axis|does not cut evenly along axis",
    r"TensorRT drops a loop that has no outputs",
    r"neither a trip count nor a condition",
    r"the length of \w+ is known only when the loop ends, and TensorRT needs it in advance",
    r"TensorRT's conditionals give one shape and type",
    r"a shape or an axis of it is computed at run time",
    r"how much it cuts is known only at run time",
    r"no TensorRT layer is known to do this",
    r"no TensorRT layer (computes|reduces by) ",
    r"TensorRT's [A-Z_]+ takes no bool",
    r"has no axis",
)
_FEATURES = ("nested", "branches", "direct", "delayed", "condition", "scan", "openvino", "products", "failing")


@pytest.mark.parametrize("hundred", range(10))
def test_random_models(hundred: int, tmp_path: Path) -> None:
    """Whatever can be stated in TensorRT carries the same values, to the bit; each refusal names its rule."""
    output = 0
    for seed in range(hundred * 100, hundred * 100 + 100):
        draw = SeededChoices(seed)
        result = draw_program(draw, [feature for feature in _FEATURES if draw.chance(35)])
        try:
            original = load_program(result)
        except LoopdbgError:
            continue
        inputs = draw_feeds(result, draw)
        try:
            _round_trip(original, inputs, tmp_path, exact=True)
            output += 1
        except UnsupportedError as error:
            assert any(re.search(rule, str(error)) for rule in _RULES), (seed, str(error))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert output > 30


def test_refusals_name_the_node() -> None:
    text = """m (int64 n, double x) => (double y) {
        y = Loop <body = b (int64 i, bool c, double v) => (bool go, double w) <bool go = {1}> { w = Add(v, v) }>
            (n, , x)
    }"""
    with raises_error(UnsupportedError, got="float64"):
        convert_and_reload(model(text), {"n": np.int64(3), "x": np.float64(1)}, Path())


def test_a_length_is_asked_for(tmp_path: Path) -> None:
    original, inputs = sample("newton_sqrt.onnx")
    shapes = {name: TensorType(np.asarray(value).dtype, ()) for name, value in inputs.items()}
    with pytest.raises(UnsupportedError, match=r"Loop 'sqrt' .*says the longest that it may get"):
        to_tensorrt_script(original.graph, original.name, shapes)


def test_node_tests_of_onnx_are_written_or_refused_in_words() -> None:
    written = 0
    for case in load_node_tests():
        inputs = dict(zip((i.name for i in case.model.graph.input), case.data_sets[0][0], strict=True))
        try:
            original = load_proto(case.model)
            shapes = {name: TensorType(value.dtype, value.shape) for name, value in map(_array, inputs.items())}
            to_tensorrt_script(original.graph, case.name, shapes, 64)
        except LoopdbgError:
            continue
        written += 1
    assert written > 400


def _array(item: tuple[str, Any]) -> tuple[str, Any]:
    """An input by its name; of sequences, which TensorRT does not have, whatever their first one is."""
    value = as_loopdbg_value(item[1])
    return item[0], np.asarray(value[0] if isinstance(value, list) and value else value)
