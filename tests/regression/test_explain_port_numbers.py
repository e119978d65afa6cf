"""explain numbered an IR's ports by their order; the file has external_port_id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_runner import run_cli
from ir_builder import running_sum
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import loops
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A TensorIterator with the input ports 0 and 7 and the output ports 2 and 9."""
    net = running_sum()
    text = f'<?xml version="1.0"?>\n<net name="model" version="11">\n{net.text()}\n</net>\n'
    head, tail = text.rsplit('name="ti"', 1)
    tail = tail.replace('<port id="1"/>', '<port id="7"/>', 1).replace('<port id="3" ', '<port id="9" ', 1)
    tail = tail.replace('input external_port_id="1"', 'input external_port_id="7"')
    tail = tail.replace('output external_port_id="3"', 'output external_port_id="9"')
    body, edges = tail.rsplit("<edges>", 1)
    edges = edges.replace('to-layer="2" to-port="1"', 'to-layer="2" to-port="7"')
    tail = body + "<edges>" + edges.replace('from-port="3"', 'from-port="9"')
    result = tmp_path / "model.xml"
    result.write_text(f'{head}name="ti"{tail}')
    result.with_suffix(".bin").write_bytes(bytes(net.blob))
    return result


def test_ports_have_the_numbers_of_the_file(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    out = run_cli(capsys, "explain", path).out
    listed = out[out.index("port_map") : out.index("back_edges")]
    assert re.findall(r"(input|output) (\d+)", listed) == [
        ("input", "0"),
        ("input", "7"),
        ("output", "2"),
        ("output", "9"),
    ]


def test_a_recording_keeps_them(path: Path) -> None:
    (loop,) = loops(graph_from_json(graph_to_json(read(path))))
    assert (loop.input_ports, loop.output_ports) == ([0, 7], [2, 9])
