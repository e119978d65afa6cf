"""Exports values and changes of an iteration as node data for Google's Model Explorer, which colours graph nodes.

The format is that of ``node_data_builder.py`` of ai-edge-model-explorer 0.1.34: by graph and node a number, or a word
if there is none. ONNX graphs and nodes are named as by the adapter model-explorer-onnx 0.4.2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.graph import Loop
from ..statistics.tensor_statistics import TensorRef

#: Colours from small to large numbers, and of non-finite numbers.
_GRADIENT = ({"stop": 0, "bgColor": "#f2f6fb"}, {"stop": 1, "bgColor": "#5b8fc7"})
_NON_FINITE_COLOUR = "#e07a72"
#: A node's number: a value or a change; None if undefined.
NodeNumber = float | None
#: By graph, then by node.
NodeNumbers = Mapping[str, Mapping[str, NodeNumber]]


def magnitude(value: Any) -> NodeNumber:
    """A value as one number: the element itself, else the norm; None for non-numeric values."""
    array = _as_floats(value)
    if array is None or not array.size:
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 else float(np.linalg.norm(array.reshape(-1)))


def largest_change(before: Any, after: Any) -> NodeNumber:
    """The largest change of an element; None if the values cannot be compared."""
    old, new = _as_floats(before), _as_floats(after)
    if old is None or new is None or old.shape != new.shape or not new.size:
        return None
    with np.errstate(all="ignore"):
        return float(np.abs(new - old).max())


def _as_floats(value: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind in "OUSTM":
        return None
    array = np.asarray(value)
    return np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)


def node_keys(path: Path, loop: Loop | None) -> dict[str, tuple[str, str]] | None:
    """Model Explorer's keys of the nodes of a model: by the name of a node's output, its graph and its own name.

    Nodes without a name in the file are omitted, since Model Explorer numbers them itself. None for formats other than
    ONNX, whose adapters are not supported.
    """
    if path.suffix.lower() != ".onnx":
        return None
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    keys = dict(_named_nodes(graph, graph.name))
    for node in graph.node:
        for attribute in node.attribute:
            if node.name and attribute.type == onnx.AttributeProto.GRAPH:
                body_keys = dict(_named_nodes(attribute.g, f"{node.name}/{attribute.name}"))
                # If several bodies use the same names, the loop's own body takes precedence.
                keys |= body_keys if loop is not None and node.name == loop.name else {**body_keys, **keys}
    return keys


def _named_nodes(graph: Any, graph_key: str) -> Iterator[tuple[str, tuple[str, str]]]:
    return ((output, (graph_key, node.name)) for node in graph.node if node.name for output in node.output if output)


def node_data_text(numbers: NodeNumbers) -> str:
    """The text of the file. The key of a single graph without a name is omitted: it applies to the open graph."""
    graphs = {
        name: {"results": _results_by_node(values), "gradient": list(_GRADIENT)} for name, values in numbers.items()
    }
    return json.dumps(graphs[""] if set(graphs) == {""} else graphs, indent=2) + "\n"


def _results_by_node(numbers: Mapping[str, NodeNumber]) -> dict[str, dict[str, Any]]:
    """Results by node; JSON has no NaN and infinity, which become strings."""
    return {
        name: {"value": number} if np.isfinite(number) else {"value": str(number), "bgColor": _NON_FINITE_COLOUR}
        for name, number in numbers.items()
        if number is not None
    }
