"""What OpenVINO's CPU plugin makes of a trip count, beside the specification of the model's own system.

Seen in OpenVINO 2026.4: it holds the number in 32 bits. -1 is no limit. Another negative number is no limit either, but
for a loop with scan outputs, which then runs nothing and returns memory that nobody wrote.
"""

from __future__ import annotations

import numpy as np

from .graph import Loop, Note, System, effective_trip_count
from .text import count_text

_PLUGIN = "OpenVINO's CPU plugin"


def trip_count_note(loop: Loop, given: int, ran: int | None) -> Note | None:
    """One sentence where it does something else; else None.

    ``ran``: how many iterations ran; None of a constant trip count, which it reads in 64 bits.
    """
    if effective_trip_count(given) is None:
        return None
    seen = given if ran is None else int(np.array(given).astype(np.int32))
    if given >= 0 and seen == given:
        return None
    if seen < -1 and loop.scan_outputs:  # B14
        return Note("B14", f"{_PLUGIN} would return uninitialised memory for the trip count {given}.")
    if seen < 0:  # B14; what is large enough to come out negative ends no loop
        if given >= 0 or loop.system is not System.ONNX:
            return None
        return Note(
            "B14", f"{_PLUGIN} would take the trip count {given} for no limit; by the specification nothing runs."
        )
    # Up to there both do the same.
    if ran is None or (ran <= seen if given >= 0 else not seen):
        return None
    trips = count_text(seen, "trip")  # B15
    return Note("B15", f"{_PLUGIN} would run {trips} at most: it truncates the trip count {given} to 32 bits.")
