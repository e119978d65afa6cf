"""Which inputs have one type: the table against ONNX's own schemas."""

from __future__ import annotations

import onnx
import pytest
from onnx.defs import OpSchema

from loopdbg.runtime.ops.type_constraints import type_variables_of


@pytest.mark.parametrize(
    "schema",
    [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""],
    ids=lambda schema: f"{schema.name}-{schema.since_version}",
)
def test_the_groups_are_the_type_variables(schema: OpSchema) -> None:
    wanted: dict[str, tuple[list[str], list[int]]] = {}
    for k, port in enumerate(schema.inputs):
        variadic = port.option == OpSchema.FormalParameterOption.Variadic
        if "(" not in port.type_str and (port.is_homogeneous or not variadic):
            wanted.setdefault(port.type_str, ([], []))[0].append(f"{k}+" if variadic else str(k))
    for k, port in enumerate(schema.outputs):
        if port.type_str in wanted:
            wanted[port.type_str][1].append(k)
    messages = [group for group in wanted.values() if len(group[0]) > 1 or group[0][0].endswith("+") or group[1]]
    assert type_variables_of(schema.name, schema.since_version) == messages
