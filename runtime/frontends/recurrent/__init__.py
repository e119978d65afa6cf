"""LSTM, GRU and RNN of ONNX, and the sequences of OpenVINO, as loops.

Written specs: the pages of LSTM, GRU and RNN of ONNX; LSTMSequence-1 and -5, GRUSequence-5 and RNNSequence-5 of
OpenVINO. A direction is a loop: its iterations are time steps, it carries h and c, and its body is what `ops/cells.py`
says of a step, with a node for each of its words, so that gates are values with names. Before the loops stand their
initial states (and the weights by direction, unless they are constants), behind them the outputs. A sequence that is
shorter than the others keeps its state, and gives 0, in the steps that it does not have.
"""

from .layers import layer_function
from .opener import open_loops

__all__ = ["layer_function", "open_loops"]
