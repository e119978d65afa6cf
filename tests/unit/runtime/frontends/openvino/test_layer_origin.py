"""Where the layers of an IR were made, as their names and ``rt_info`` tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_builder import IrNetBuilder
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import UNKNOWN_ORIGIN, Origin

FUSED = '<rt_info><attribute name="{}" version="0" value="{}"/></rt_info>'


def origin(folder: Path, name: str, extra: str = "") -> Origin:
    """Of a layer."""
    net = IrNetBuilder()
    x = net.parameter()
    net.result(net.layer("Add", [x, x], name=name, extra=extra, shape="1"))
    (node,) = read(net.save(folder)).nodes
    return node.origin


def test_names_are_paths_of_scopes(tmp_path: Path) -> None:
    assert origin(tmp_path, "__module.decoder.layers.0/aten::add/Add_3") == Origin(scopes=("decoder.layers.0",))
    assert origin(tmp_path, "/blocks.0/attn/Add") == Origin(scopes=("blocks.0", "attn"))
    assert origin(tmp_path, "Add_3") is UNKNOWN_ORIGIN


def test_what_a_layer_was_fused_from(tmp_path: Path) -> None:
    assert origin(tmp_path, "Add_3", FUSED.format("fused_names", "mul_2, add_3")) == Origin(
        framework_node="mul_2, add_3"
    )
    assert origin(tmp_path, "Add_3", FUSED.format("layout", "[N]")) is UNKNOWN_ORIGIN
    assert len(origin(tmp_path, "Add_3", FUSED.format("fused_names", "x," * 10_000)).framework_node) <= 200


@pytest.mark.parametrize("value", ["", ",", " , "])
def test_fused_from_nothing(tmp_path: Path, value: str) -> None:
    assert origin(tmp_path, "Add_3", FUSED.format("fused_names", value)) == Origin()
