"""What annotations say of ONNX attributes is what ONNX's schemas say."""

from __future__ import annotations

from onnx import defs

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops.registry import attribute_kinds, definitions, find

#: Of no use, or of a kind that no annotation tells.
OPEN = {"consumed_inputs", "sparse_value", "type"}


def test_annotations_are_right() -> None:
    checked = 0
    for system, domain, entry in definitions():
        for version in range(entry.since, defs.onnx_opset_version() + 1) if system is System.ONNX else ():
            if find(system, domain, entry.op_type, version) is not entry:
                continue
            if not defs.has(entry.op_type, version, domain):
                continue
            told = attribute_kinds(domain, entry.op_type, version)
            assert told is not None
            for name, attribute in defs.get_schema(entry.op_type, version, domain).attributes.items():
                if name not in OPEN:
                    assert told.get(name) == attribute.type.name, (entry.op_type, version, name)
                    checked += 1
    assert checked > 500
