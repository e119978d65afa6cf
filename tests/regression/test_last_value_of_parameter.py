"""A last-value output may return what the last iteration got: its number, its slice, a parameter.

The boundary after the iteration writes all of them again; what is returned is what they were.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from ir_builder import TRUE, IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry


def net(trips: int) -> IrNetBuilder:
    result = IrNetBuilder()
    limit, true = result.constant(np.int64(trips), name="trips"), result.constant(TRUE, name="true")
    start, xs = result.parameter("1", name="start"), result.parameter(f"{trips + 1}", name="xs")
    body = result.body_builder()
    i, x, part = body.parameter("", "i64", name="i"), body.parameter("1", name="x"), body.parameter("1", name="part")
    following = body.result(body.layer("Add", [x, body.constant(np.ones(1, np.float32))], shape="1"))
    number, got, slice_ = body.result(i), body.result(x), body.result(part)
    keep = body.result(body.constant(TRUE))
    entries = [
        *(
            input_map_entry(2, x),
            input_map_entry(3, part, 'axis="0"'),
            input_map_entry(-1, i, 'purpose="current_iteration"'),
        ),
        *(
            output_map_entry(4, following),
            output_map_entry(5, number),
            output_map_entry(6, got),
            output_map_entry(7, slice_),
            output_map_entry(-1, keep, 'purpose="execution_condition"'),
        ),
    ]
    parts = loop_sections(body, entries, back_edges((following, x)))
    loop = result.layer("Loop", [limit, true, start, xs], 4, name="loop", version="opset5", shape="1", extra=parts)
    for k in range(4):
        result.result((loop, 4 + k))
    return result


@pytest.mark.parametrize("trips", [1, 3, 700])
def test_what_the_last_iteration_got(tmp_path: Path, trips: int) -> None:
    result = net(trips)
    path = tmp_path / "model.xml"
    path.write_text(f'<?xml version="1.0"?>\n<net name="net" version="11">{result.text()}</net>\n')
    path.with_suffix(".bin").write_bytes(bytes(result.blob))
    m = loopdbg.load(path)
    feed = {"start": np.zeros(1, np.float32), "xs": np.arange(trips + 1, dtype=np.float32)}
    session = loopdbg.debug(m, feed)
    for _ in range(min(trips, 3)):
        session.step()
    session.back()
    session.continue_()
    for outputs in (m.run(feed), m.run(feed), session.outputs):
        following, number, got, part = (value.item() for value in outputs.values())
        assert (following, number, got, part) == (trips, trips - 1, trips - 1, trips - 1)
