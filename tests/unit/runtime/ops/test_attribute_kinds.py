"""What annotations say of ONNX attributes is what ONNX's schemas say."""

from __future__ import annotations

from dataclasses import replace

from onnx import defs

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Operation, System, Value
from loopdbg.runtime.ops.registry import attribute_kinds, definitions, find_definition, resolve

#: Of no use, or of a kind that no annotation tells.
OPEN = {"consumed_inputs", "sparse_value", "type"}


def test_annotations_are_right() -> None:
    checked = 0
    for system, domain, entry in definitions():
        for version in range(entry.since, defs.onnx_opset_version() + 1) if system is System.ONNX else ():
            if find_definition(system, domain, entry.op_type, version) is not entry:
                continue
            if not defs.has(entry.op_type, version, domain):
                continue
            message = attribute_kinds(domain, entry.op_type, version)
            assert message is not None
            for name, attribute in defs.get_schema(entry.op_type, version, domain).attributes.items():
                if name not in OPEN:
                    assert message.get(name) == attribute.type.name, (entry.op_type, version, name)
                    checked += 1
    assert checked > 500


def test_versions_take_the_attributes_of_the_newest_but_for_what_they_lack() -> None:
    kinds = {version: attribute_kinds("", "Attention", version) for version in (23, 24, 25)}
    assert kinds[23] is not None and kinds[23]["softmax_precision"] == "INT"
    assert kinds[23] == kinds[24]
    assert kinds[25] == {**kinds[23], "left_window_size": "INT", "right_window_size": "INT"}


def test_what_a_version_lacks_is_refused() -> None:
    values: list[Value | None] = [Value(name) for name in "qkv"]
    node = Operation("a", "Attention", "", 24, values, [Value("y")], {"left_window_size": 1})
    with raises_error(ModelError, node="a", op_type="Attention", name="left_window_size"):
        resolve(node, System.ONNX)
    assert resolve(replace(node, version=25), System.ONNX).keywords["left_window_size"] == 1
    node = Operation("i", "PriorBox", "opset1", 1, values[:2], [Value("y")], {"flip": "true"})
    with raises_error(ModelError, node="i", op_type="PriorBox", name="offset"):
        resolve(node, System.OPENVINO)
    node.attributes = {"offset": "0.5", "min_size": "4,8", "min_max_aspect_ratios_order": "false"}
    keywords = resolve(node, System.OPENVINO).keywords
    assert keywords == {"offset": 0.5, "min_size": (4.0, 8.0)}, "what version 8 brought is a hint to version 1"
