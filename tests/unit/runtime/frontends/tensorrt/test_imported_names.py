"""Names that helper modules of scripts use as soon as they are imported, and what stays refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loopdbg.runtime.errors import UnsupportedError

from .network_scripts import load_script

HELPERS = """
import numpy as np
import tensorrt as trt
import tensorrt.tensorrt as bindings
from tensorrt.tensorrt import Logger

assert bindings.Logger is Logger is trt.Logger
ADDERS = {
    trt.LayerType.ELEMENTWISE: trt.INetworkDefinition.add_elementwise,
    trt.LayerType.PLUGIN_V3: trt.INetworkDefinition.add_plugin_v3,
    trt.LayerType.MOE: trt.INetworkDefinition.add_moe,
}
CLASSES = {trt.LayerType.PLUGIN_V3: trt.IPluginV3Layer, trt.LayerType.MOE: trt.IMoELayer}


class Calibrator(trt.IInt8EntropyCalibrator2):
    def __init__(self, batches: int) -> None:
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.batches = batches


class Creator(trt.IPluginCreatorV3One):
    def __init__(self) -> None:
        super().__init__()
        fields = [trt.PluginField("scale", np.array([1.0], np.float32), trt.PluginFieldType.FLOAT32)]
        self.field_names = trt.PluginFieldCollection(fields)

    def create_plugin(self, name: str, fc: trt.PluginFieldCollection, phase: trt.TensorRTPhase) -> object:
        return super().create_plugin(name, fc, phase)


assert len(Creator().field_names) == 1 and Calibrator(3).batches == 3
"""
NETWORK = """
def build(network):
    x = network.add_input("x", trt.float32, (2,))
    y = ADDERS[trt.LayerType.ELEMENTWISE](network, x, x, trt.ElementWiseOperation.SUM).get_output(0)
    y.name = "y"
    network.mark_output(y)
"""


def test_helpers_that_name_plugins_and_calibrators(tmp_path: Path) -> None:
    got = load_script(tmp_path, HELPERS + NETWORK).run({"x": np.array([1, 2], np.float32)})
    assert got["y"].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("add_plugin_v3([], [], None)", "a plugin's code is a library for the GPU"),
        ("add_plugin(lambda: None, False)", "a plugin's code is a library for the GPU"),
        ("add_moe(None, None, None)", "build it of add_topk"),
        ("add_dist_collective(None, None, None, 0, [])", "it joins several GPUs"),
        ("add_dynamic_quantize(None, 1, 16, trt.int8, trt.float32)", "its scales are of blocks"),
        ("add_dynamic_quantize_v2(None, (1, 16), trt.int8, trt.float32)", "its scales are of blocks"),
    ],
)
def test_adding_what_is_not_here_is_refused(call: str, why: str, tmp_path: Path) -> None:
    name = call.partition("(")[0]
    with pytest.raises(UnsupportedError, match=rf"model\.py:3: INetworkDefinition\.{name} is not here: {why}"):
        load_script(tmp_path, f"import tensorrt as trt\ndef build(network):\n    network.{call}\n")


def test_weights_of_four_bits_come_two_a_byte(tmp_path: Path) -> None:
    text = """
import numpy as np
import tensorrt as trt

def build(network):
    packed = np.array([0x21, 0xF8, 0x07], np.uint8)
    weights = trt.Weights(trt.int4, packed.ctypes.data, 5)
    assert len(weights) == 5
    whole = network.add_constant((5,), weights).get_output(0)
    one = network.add_constant((), np.array([1], np.float32)).get_output(0)
    y = network.add_dequantize(whole, one, trt.float32).get_output(0)
    y.name = "y"
    network.mark_output(y)
"""
    assert load_script(tmp_path, text).run({})["y"].tolist() == [1, 2, -8, -1, 7]
