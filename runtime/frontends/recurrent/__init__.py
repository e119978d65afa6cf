"""LSTM, GRU and RNN of ONNX, and the sequences of OpenVINO, as loops.

Written specs: the pages of LSTM, GRU and RNN of ONNX; LSTMSequence-1 and -5, GRUSequence-5 and RNNSequence-5 of
OpenVINO. A direction is a loop: its iterations are time steps, it carries h and c, and its body is what
`ops/recurrent_cells.py` says of a step, with a node for each of its words, so that gates are values with names. Before
the loops stand their initial states (and the weights by direction, unless they are constants), behind them the outputs.
A sequence that is shorter than the others keeps its state, and gives 0, in the steps that it does not have.
"""

from collections.abc import Callable
from typing import Any

from ...graph import Graph, System, walk

__all__ = ["expand_recurrent_operators", "layer_function"]

#: Models without such operators need nothing of what they mean.
_RECURRENT_NAMES = ("LSTM", "GRU", "RNN")


def layer_function(system: System, domain: str, op_type: str, version: int) -> Callable[..., Any] | None:
    """The function whose keywords are the attributes of an operator that becomes loops; None for any other."""
    if not _may_be_recurrent(op_type):
        return None
    from . import layers

    return layers.layer_function(system, domain, op_type, version)


def expand_recurrent_operators(graph: Graph) -> None:
    """Put loops where a graph, or a graph inside it, has recurrent operators.

    Raises:
        ModelError: attributes or inputs that the operator's specification rejects.
        UnsupportedError: an activation that no specification has.
    """
    if any(_may_be_recurrent(node.op_type) for node in walk(graph)):
        from . import expansion

        expansion.expand_recurrent_operators(graph)


def _may_be_recurrent(op_type: str) -> bool:
    upper = op_type.upper()
    return any(word in upper for word in _RECURRENT_NAMES)
