"""Edits for a copy of a model file, in terms of its graph; each front end translates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..graph import Array, Loop, Value
from ..record import record


@record(frozen=True)
class ModelEdits:
    """``constants``: new data of constants; ``initial_values``: values of loop parameters in iteration 0;
    ``trip_counts``: trip counts of loops; ``initial_conditions``: their initial conditions."""

    constants: Mapping[Value, Array] = field(default_factory=dict)
    initial_values: Mapping[tuple[Loop, Value], Array] = field(default_factory=dict)
    trip_counts: Mapping[Loop, int] = field(default_factory=dict)
    initial_conditions: Mapping[Loop, bool] = field(default_factory=dict)
