"""Random models: each loop, and iterations of it, extracted as a model of its own gives the bits that it gave in the
run.

``extract`` checks this itself before it keeps a file; here the written files are checked independently.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import loopdbg
from extraction_checks import extract_every_part
from hypothesis_settings import example_settings
from strategies import program_generator
from strategies.ir_export import write_ir
from strategies.onnx_export import to_onnx

TOGETHER = (
    ("growing", "delayed", "direct"),
    ("nested", "branches", "direct"),
    ("strings", "condition"),
    ("scan", "rows", "nested"),
    ("openvino", "direct", "nested"),
    ("openvino", "growing", "branches"),
)


@pytest.mark.parametrize("features", TOGETHER, ids="-".join)
@example_settings(8, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_extracted_parts_reproduce_the_run(
    tmp_path_factory: pytest.TempPathFactory, features: Collection[str], data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("part")
    program, feeds, _ = data.draw(program_generator.program_cases(features))
    if "openvino" in features:
        path = write_ir(program, folder / "model.xml")
    else:
        path = folder / "model.onnx"
        onnx.save(to_onnx(program), path)
    for item in extract_every_part(loopdbg.load(path), feeds, folder):
        assert item.outputs
