"""What is written otherwise in a copy of a model file, in terms of its graph; each front end knows the words for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..graph import Array, Loop, Value
from ..record import record


@record(frozen=True)
class ModelEdits:
    """``constants``: what constants hold; ``begins``: what parameters of loops get in iteration 0, in place of what the
    loop is given around it; ``trips``: the most iterations of loops; ``conditions``: their initial conditions."""

    constants: Mapping[Value, Array] = field(default_factory=dict)
    initial_values: Mapping[tuple[Loop, Value], Array] = field(default_factory=dict)
    trip_counts: Mapping[Loop, int] = field(default_factory=dict)
    initial_conditions: Mapping[Loop, bool] = field(default_factory=dict)
