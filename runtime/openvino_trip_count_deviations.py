"""Deviations of OpenVINO's CPU plugin from the specification for trip counts.

Observed in OpenVINO 2026.4: the trip count is stored in 32 bits. -1 means unlimited. Other negative numbers are
unlimited too, except for a loop with scan outputs, which then runs nothing and returns uninitialized memory.
"""

from __future__ import annotations

import numpy as np

from .graph import Loop, Note, System, effective_trip_count
from .text import count_text

_PLUGIN = "OpenVINO's CPU plugin"


def trip_count_note(loop: Loop, trip_count: int, ran: int | None) -> Note | None:
    """A note if the plugin deviates; else None.

    ``ran``: the number of iterations; None for a constant trip count, which the plugin reads in 64 bits.
    """
    if effective_trip_count(trip_count) is None:
        return None
    truncated = trip_count if ran is None else int(np.array(trip_count).astype(np.int32))
    if trip_count >= 0 and truncated == trip_count:
        return None
    if truncated < -1 and loop.scan_outputs:  # B14
        return Note("B14", f"{_PLUGIN} would return uninitialised memory for the trip count {trip_count}.")
    if truncated < 0:  # B14; a value that overflows to negative means unlimited
        if trip_count >= 0 or loop.system is not System.ONNX:
            return None
        return Note(
            "B14", f"{_PLUGIN} would take the trip count {trip_count} for no limit; by the specification nothing runs."
        )
    # Both agree up to that iteration.
    if ran is None or (ran <= truncated if trip_count >= 0 else not truncated):
        return None
    trips = count_text(truncated, "trip")  # B15
    return Note("B15", f"{_PLUGIN} would run {trips} at most: it truncates the trip count {trip_count} to 32 bits.")
