"""Expands LSTM, GRU and RNN of ONNX, and the sequence operators of OpenVINO, into loops.

Specifications: LSTM, GRU and RNN of ONNX; LSTMSequence-1 and -5, GRUSequence-5 and RNNSequence-5 of OpenVINO. Each
direction becomes a loop over time steps that carries h and c. Its body is the step of `ops/recurrent_cells.py`, with a
node per operation, so that gates are named values. Nodes before the loops compute initial states (and the weights by
direction, unless they are constants), nodes after them the outputs. A shorter sequence keeps its state and yields 0 in
the missing steps.
"""

import re
from collections.abc import Callable
from typing import Any

from ...graph import Graph, System, walk

__all__ = ["expand_recurrent_operators", "layer_function"]

#: Other models do not import the expansion.
_RECURRENT_NAME = re.compile("LSTM|GRU|RNN", re.IGNORECASE)


def layer_function(system: System, domain: str, op_type: str, version: int) -> Callable[..., Any] | None:
    """The layer function of a recurrent operator, whose keywords are its attributes; None for other operators."""
    if not _RECURRENT_NAME.search(op_type):
        return None
    from . import layers

    return layers.layer_function(system, domain, op_type, version)


def expand_recurrent_operators(graph: Graph) -> None:
    """Expand the recurrent operators of a graph, and of the graphs inside it, into loops.

    Raises:
        ModelError: invalid attributes or inputs of an operator.
        UnsupportedError: an unknown activation.
    """
    if _RECURRENT_NAME.search(" ".join({node.op_type for node in walk(graph)})):
        from . import expansion

        expansion.expand_recurrent_operators(graph)
