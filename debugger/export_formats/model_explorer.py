"""Values and changes of an iteration as node data for Google's Model Explorer, which colours a model's graph by them.

Its form is that of ``node_data_builder.py`` of ai-edge-model-explorer 0.1.34: by graph and node a number, or a word
where there is none. Graphs and nodes of ONNX are called as the adapter model-explorer-onnx 0.4.2 calls them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.graph import Loop
from ..statistics.tensor_ref import TensorRef

#: From small to large, and what is not a number.
_GRADIENT = ({"stop": 0, "bgColor": "#f2f6fb"}, {"stop": 1, "bgColor": "#5b8fc7"})
_NON_FINITE_COLOUR = "#e07a72"
#: A node's number: a value, a change, or None where neither can be said.
NodeNumber = float | None
#: By graph, by node.
NodeNumbers = Mapping[str, Mapping[str, NodeNumber]]


def magnitude(value: Any) -> NodeNumber:
    """A value as one number: itself where it has one element, else its norm; None where it holds no numbers."""
    array = _as_floats(value)
    if array is None or not array.size:
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 else float(np.linalg.norm(array.reshape(-1)))


def largest_change(before: Any, after: Any) -> NodeNumber:
    """The largest change of an element; None where they cannot be compared."""
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
    """What Model Explorer calls the nodes of a model: by the name of what a node makes, its graph and itself.

    Nodes without a name in the file are left out, since it calls them by numbers of its own. None of other files than
    ONNX, of which the adapter is not known.
    """
    if path.suffix.lower() != ".onnx":
        return None
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    found = dict(_named_nodes(graph, graph.name))
    for node in graph.node:
        for attribute in node.attribute:
            if node.name and attribute.type == onnx.AttributeProto.GRAPH:
                own = dict(_named_nodes(attribute.g, f"{node.name}/{attribute.name}"))
                # Of several bodies with the same names the loop's own counts.
                found |= own if loop is not None and node.name == loop.name else {**own, **found}
    return found


def _named_nodes(graph: Any, called: str) -> Iterator[tuple[str, tuple[str, str]]]:
    return ((made, (called, node.name)) for node in graph.node if node.name for made in node.output if made)


def node_data_text(numbers: NodeNumbers) -> str:
    """The file. Where the one graph has no name, it is about the graph that is open."""
    graphs = {name: {"results": _node_results(found), "gradient": list(_GRADIENT)} for name, found in numbers.items()}
    return json.dumps(graphs[""] if set(graphs) == {""} else graphs, indent=2) + "\n"


def _node_results(numbers: Mapping[str, NodeNumber]) -> dict[str, dict[str, Any]]:
    """Numbers by node; JSON has none for NaN and infinity."""
    return {
        name: {"value": number} if np.isfinite(number) else {"value": str(number), "bgColor": _NON_FINITE_COLOUR}
        for name, number in numbers.items()
        if number is not None
    }
