"""The edit script of two models: what to change in the left one so that it computes what the right one computes.

See normal_form (spellings that mean the same), numbering (values that are provably the same) and alignment (the rest).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...runtime.graph import Array, Node, Value


class EditKind(Enum):
    """The kind of an edit, as reports spell it."""

    NODE_ADDED = "node added"
    NODE_OMITTED = "node omitted"
    OPERATOR = "operator"
    ATTRIBUTE = "attribute"
    DTYPE = "dtype"
    OPERAND = "operand"
    CONSTANT = "constant"
    BRANCHES = "branches"
    SLICE = "sliced input"
    BACK_EDGE = "back edge"
    INITIAL_VALUE = "initial value"
    CONDITION = "condition"
    TRIP_COUNT = "trip count"
    SCAN_OUTPUT = "scan output"
    OUTPUT_ORDER = "output order"


@dataclass(frozen=True)
class EditPlace:
    """Where an edit takes effect.

    ``role``: "value" for two values, of which the left one is to be computed as the right one; "output" for two results
    of the models, by position; otherwise the name of what is read by two loops or their ports: "trip count",
    "condition", "initial condition", "initial value", "back edge", "slice", "scan output", "last value". ``operand``:
    what the nodes of two values read, if the edit exchanges nothing else there. ``is_expanded``: the values are results
    of operators that were expanded, which the edit replaces as a whole.
    """

    role: str
    left: Any
    right: Any
    operand: tuple[Value, Value] | None = None
    is_expanded: bool = False


@dataclass(frozen=True, eq=False)
class Edit:
    """One edit. ``left_loop``: the path of the loop, MAIN in the main graph. ``left_node``, ``right_node``: nodes as
    the files contain them; None where a side has none. ``left_value``, ``right_value``: the results at which the effect
    of the edit first shows. ``left_text``, ``right_text``: the spelling of each side. ``detail``: the name of the
    attribute, the index of the operand, how a constant changed. ``left_data``, ``right_data``: the data of a changed
    constant. ``left_name``, ``right_name``: the names of what is changed: of a constant its own, of an edge its
    parameter, of a node its first result. ``port``: of an edit of a loop, the pair of its ports (back edges, slices,
    scan outputs, last values)."""

    kind: EditKind
    left_loop: str
    left_node: Node | None
    right_node: Node | None
    left_value: Value | None
    right_value: Value | None
    left_text: str
    right_text: str
    detail: str = ""
    left_data: Array | None = None
    right_data: Array | None = None
    left_name: str = ""
    right_name: str = ""
    port: tuple[Any, Any] | None = None
    places: tuple[EditPlace, ...] = ()


@dataclass(frozen=True, eq=False)
class EditScript:
    """The edits in execution order. ``matched``: left -> right values with equal value numbers, which are provably the
    same; ``aligned``: left -> right values that correspond but differ."""

    edits: tuple[Edit, ...]
    matched: Mapping[Value, Value] = field(default_factory=dict)
    aligned: Mapping[Value, Value] = field(default_factory=dict)
