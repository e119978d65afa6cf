"""The kinds of rewrites."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RewriteKind:
    """``why``: why such a rewrite is valid; ``rounds``: results may be rounded otherwise, as sums are computed in
    another order (else they are bit-identical); ``on_request``: found only where it is asked for."""

    why: str
    rounds: bool = False
    on_request: bool = False


#: By name, in the order of docs/optimize.md.
KINDS: dict[str, RewriteKind] = {
    "unread-carried": RewriteKind("no result that is used depends on it, in any iteration"),
    "unchanged-carried": RewriteKind("the body can read the initial value itself"),
    "unused-scan-output": RewriteKind("no node and no output of the model reads it"),
    "unused-result": RewriteKind("no node and no result of the body reads it"),
    "invariant-node": RewriteKind("its inputs are the same in every iteration, and it is deterministic"),
    "duplicate-node": RewriteKind("operator, attributes and inputs are the same, and it is deterministic"),
    "constant-condition": RewriteKind("the trip count alone ends the loop"),
    "constant-if": RewriteKind("the other branch is never taken"),
    "single-iteration": RewriteKind("the trip count is the constant 1"),
    "unroll": RewriteKind("the trip count is a small constant", on_request=True),
    "growing-concat": RewriteKind("the body only appends to it: a scan output collects the same parts"),
    "map": RewriteKind("no iteration needs another one, and the body works row by row", rounds=True),
    "prefix-sum": RewriteKind("the carried value is the sum of rows that no iteration changes", rounds=True),
    "reduction": RewriteKind("the carried value is the reduction of rows that no iteration changes", rounds=True),
    "lstm": RewriteKind("the body computes the equations of ONNX LSTM", rounds=True),
    "gru": RewriteKind("the body computes the equations of ONNX GRU", rounds=True),
    "rnn": RewriteKind("the body computes the equations of ONNX RNN", rounds=True),
    "scan": RewriteKind("the trip count is the number of rows, and the body reads row i of each tensor"),
}
