"""Two back edges of an IR carry the same body value: without iterations each output is its own edge's initial value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from ir_builder import TRUE, IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry
from loopdbg.runtime.frontends.openvino import reader as openvino


@pytest.mark.parametrize("trips", [0, 2])
def test_each_output_has_its_own_edge(tmp_path: Path, trips: int) -> None:
    net = IrNetBuilder()
    starts = [net.parameter("1", name=name) for name in ("x", "y")]
    sources = [net.constant(np.int64(trips)), net.constant(TRUE), *starts]
    body = net.body_builder()
    params = [body.parameter("1", name=name) for name in ("p", "q")]
    total = body.layer("Add", params, name="total", shape="1")
    results = [body.result(total, name=name) for name in ("first", "second")]
    keep = body.result(body.constant(TRUE))
    ports = [
        input_map_entry(2, params[0]),
        input_map_entry(3, params[1]),
        output_map_entry(4, results[0]),
        output_map_entry(5, results[1]),
    ]
    ports.append(output_map_entry(-1, keep, 'purpose="execution_condition"'))
    edges = back_edges(*zip(results, params, strict=True))
    loop = net.layer(
        "Loop", sources, 2, name="loop", version="opset5", shape="1", extra=loop_sections(body, ports, edges)
    )
    net.result((loop, 4), name="a")
    net.result((loop, 5), name="b")
    path = tmp_path / "model.xml"
    path.write_text(f'<?xml version="1.0"?>\n<net name="model" version="11">\n{net.text()}\n</net>\n')
    path.with_suffix(".bin").write_bytes(bytes(net.blob))
    inputs = {"x": np.float32([1]), "y": np.float32([5])}
    got = [float(value[0]) for value in loopdbg.Model(openvino.read(path)).run(inputs).values()]
    assert got == ([1, 5] if trips == 0 else [12, 12])
