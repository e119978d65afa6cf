"""Models with the metadata of PyTorch's exporter, and tracks of the programs that they could be exported from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx

import loopdbg
from loopdbg.debugger.reference.program_track import ProgramTrack
from text_models import load_proto, proto


def model_with_metadata(text: str, names: Sequence[str]) -> loopdbg.Model:
    """A model whose nodes (those of bodies after their loop) were exported from nodes of these names."""
    source = proto(text)
    nodes = list(_all_nodes(source.graph))
    for node, name in zip(nodes, names, strict=True):
        if name:
            node.metadata_props.append(
                onnx.StringStringEntryProto(key="pkg.torch.onnx.fx_node", value=f"%{name} : [num_users=1] = call")
            )
    return load_proto(source)


def _all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.g.node:
                yield from _all_nodes(attribute.g)


def program_track(
    name: str, *reads: str, loop: str = "", graph: tuple[str, ...] = (), shape: Any = 3, value: Any = None, **more: Any
) -> ProgramTrack:
    """The track of a program node, computed once in iteration 0 of its loops: ``value``, or zeros of a shape."""
    key = (0,) * (loop.count("/") + 1) if loop else ()
    values = {key: np.zeros(shape, np.float32) if value is None else value}
    more = {"role": "result", "node": name, **more}
    return ProgramTrack("/".join((*graph, name)), values, loop, graph=graph, reads=reads, **more)
