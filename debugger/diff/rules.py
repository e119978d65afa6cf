"""Which rule of SEMANTICS' table B a note or a failure is about, and what it predicts.

The notes themselves come from the front ends (what a look at the model tells) and from ``runtime/notes.py`` (what the
numbers of a run tell).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import Reason


@dataclass(frozen=True)
class Rule:
    """``peers`` do something else; ``effects``: trips, values, failure."""

    label: str
    pattern: str
    peers: tuple[str, ...]
    effects: tuple[str, ...]


_ORT, _OV = "onnxruntime", "openvino"
_BOTH = (_ORT, _OV)
#: In the order of the table; the first that matches counts.
RULES = (
    Rule("B1", "although the loop's cond is absent", _BOTH, ("trips",)),
    Rule("B7", "returns the iteration number", (_ORT,), ("values",)),
    Rule("B8", "writes back edges one after another", (_OV,), ("values", "failure")),
    Rule("B9", "would compute wrong values: the body returns its input", (_ORT,), ("values", "trips")),
    Rule("B10", "moves the strings out of", (_ORT,), ("values",)),
    Rule(
        "B14",
        "trip count -\\d+ for no limit|uninitialised memory for the trip count",
        (_OV,),
        ("trips", "values", "failure"),
    ),
    Rule("B15", "truncates the trip count", (_OV,), ("trips", "values")),
    Rule("B16", "cond is always false, and|since the loop's cond is always false", (_OV,), ("values", "failure")),
    Rule("B17", "omitted output", (_ORT,), ("failure",)),
    Rule("B19", "a Scan over nothing", _BOTH, ("values", "failure")),
    Rule("B21", "a Scan whose body uses an outer value", (_OV,), ("failure",)),
    Rule("B22", "counts with start=", (_OV,), ("values",)),
    Rule("B23", "negative axis", (_OV,), ("values", "failure")),
    Rule("B24", "without a value", (_OV,), ("values",)),
    Rule("B28", "loops inside each other that both call", (_OV,), ("failure",)),
    Rule("B29", r"in 32 bits|\(float64\) as float32", (_OV,), ("values", "trips")),
    Rule("SEMANTICS 0.6", "ignore the back edge", (_OV,), ("values",)),
    Rule("SEMANTICS 1.4", "refuses this loop: its body returns the outer value", (_ORT,), ("failure",)),
    Rule("SEMANTICS 4.2", "refuses a TensorIterator inside", (_OV,), ("failure",)),
)


def reasons_of(notes: Iterable[str]) -> list[Reason]:
    """Notes with the rules that they are about; those about none keep an empty label."""
    found = []
    for note in notes:
        rule = next((rule for rule in RULES if re.search(rule.pattern, note)), None)
        found.append(Reason("" if rule is None else rule.label, note))
    return found


def fitting(reasons: Sequence[Reason], effect: str, peer: str | None = None) -> list[Reason]:
    """The reasons that predict an effect, for a peer or for any."""
    by_label = {rule.label: rule for rule in RULES}
    return [
        reason
        for reason in reasons
        if (rule := by_label.get(reason.rule)) is not None
        and effect in rule.effects
        and (peer is None or peer in rule.peers)
    ]
