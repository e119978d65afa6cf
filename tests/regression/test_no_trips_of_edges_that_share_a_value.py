"""Two back edges of an IR carry the same body value: without iterations each output is its own edge's initial value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from ir import TRUE, Net, back, into, loop_parts, out
from loopdbg.runtime.frontends.openvino import reader as openvino


@pytest.mark.parametrize("trips", [0, 2])
def test_each_output_has_its_own_edge(tmp_path: Path, trips: int) -> None:
    net = Net()
    starts = [net.parameter("1", name=name) for name in ("x", "y")]
    sources = [net.constant(np.int64(trips)), net.constant(TRUE), *starts]
    body = net.inner()
    params = [body.parameter("1", name=name) for name in ("p", "q")]
    total = body.layer("Add", params, name="total", shape="1")
    results = [body.result(total, name=name) for name in ("first", "second")]
    keep = body.result(body.constant(TRUE))
    ports = [into(2, params[0]), into(3, params[1]), out(4, results[0]), out(5, results[1])]
    ports.append(out(-1, keep, 'purpose="execution_condition"'))
    edges = back(*zip(results, params, strict=True))
    loop = net.layer("Loop", sources, 2, name="loop", version="opset5", shape="1", extra=loop_parts(body, ports, edges))
    net.result((loop, 4), name="a")
    net.result((loop, 5), name="b")
    path = tmp_path / "model.xml"
    path.write_text(f'<?xml version="1.0"?>\n<net name="model" version="11">\n{net.text()}\n</net>\n')
    path.with_suffix(".bin").write_bytes(bytes(net.blob))
    given = {"x": np.float32([1]), "y": np.float32([5])}
    got = [float(value[0]) for value in loopdbg.Model(openvino.read(path)).run(given).values()]
    assert got == ([1, 5] if trips == 0 else [12, 12])
