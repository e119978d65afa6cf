"""What a headless run tells: lines for a person, one JSON object for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....debugger.describe.termination import stop_cause
from ....runtime.model import Data, LoopTotals, Run
from ....runtime.text import count_text, duration_text
from ...render.formatting import dtype_name, escape_unprintable, value_text
from ..value_json import json_with_statistics

#: Columns for a value: what is longer is summarised.
VALUE_MAX_CHARS = 100
#: Of a sequence at most this many elements are listed.
LISTED_ELEMENTS_MAX = 8
_NOT_COMPUTED_TEXT = "not computed"


def is_nested(loop: LoopTotals, loops: Sequence[LoopTotals]) -> bool:
    """True for a loop inside another, which is entered as often as the other wants."""
    return any(loop.path.startswith(f"{other.path} ▸ ") for other in loops if other is not loop)


def run_notes(run: Run) -> list[str]:
    """What is odd about the model, and where a real runtime would have done something else (docs/peers.md)."""
    return [*run.notes, *(f"loop '{loop.name}': {note}" for loop in run.loops for note in loop.notes)]


def loop_lines(model: str, run: Run, seconds: float | None) -> list[str]:
    """One line a loop; inner ones indented. ``seconds``: None where somebody stopped on the way, so that the time is
    not that of the iterations."""
    model = escape_unprintable(model)
    if not run.loops:
        took = "" if seconds is None else f" in {duration_text(seconds)}"
        return [f"{model}: ran{took}; it has no loop"]
    lines = []
    again = Counter(loop.name for loop in run.loops)
    for loop in run.loops:
        name = f"'{escape_unprintable(loop.name if again[loop.name] == 1 else loop.path)}'"
        count = f"{count_text(loop.iterations, 'iteration')} of {name}"
        if is_nested(loop, run.loops):
            lines.append(f"  {count} in {count_text(loop.entries, 'entry', 'entries')}{_reasons_text(loop)}")
            continue
        each = f" ({duration_text(loop.seconds / loop.iterations)} each)" if loop.iterations else ""
        took = "" if seconds is None else f" in {duration_text(loop.seconds)}{each}"
        lines.append(f"{model}: {count}{took}, {_end_text(loop)}")
    return lines


def _end_text(loop: LoopTotals) -> str:
    return "never entered" if loop.stopped_by is None else f"stopped by {stop_cause(loop.stopped_by)}"


def _reasons_text(loop: LoopTotals) -> str:
    if not loop.reasons:
        return ""
    one = len(loop.reasons) == 1
    told = (stop_cause(reason) if one else f"{stop_cause(reason)} ({count})" for reason, count in loop.reasons.items())
    return f", stopped by {', '.join(told)}"


def output_lines(outputs: dict[str, Data], saved_as: str = "", not_computed: Sequence[str] = ()) -> list[str]:
    """One line an output: name, type, and its value where it is small; of a large one the statistics.

    ``not_computed``: outputs of the model that have no value since their types are not supported.
    """
    rows: list[tuple[str, str, str]] = []
    for name, value in outputs.items():
        if isinstance(value, list):
            rows.append((name, f"sequence of {len(value)}", ""))
            rows.extend(
                (f"  {name}[{k}]", *_value_columns(element)) for k, element in enumerate(value[:LISTED_ELEMENTS_MAX])
            )
            if len(value) > LISTED_ELEMENTS_MAX:
                rows.append((f"  ... {len(value) - LISTED_ELEMENTS_MAX} more", "", ""))
        else:
            rows.append((name, *_value_columns(value)))
    rows += [(name, _NOT_COMPUTED_TEXT, "") for name in not_computed]
    rows = [(escape_unprintable(name), kind, text) for name, kind, text in rows]
    wide = [max((len(row[k]) for row in rows), default=0) for k in range(3)]
    arrow = f"   → {escape_unprintable(saved_as)}" if saved_as else ""
    lines = []
    for name, kind, text in rows:
        mark = arrow if not name.startswith(" ") and kind not in ("none", _NOT_COMPUTED_TEXT) else ""
        text = f"{text:<{wide[2]}}{mark}" if mark else text
        lines.append(f"  {name:<{wide[0]}}   {kind:<{wide[1]}}   {text}".rstrip())
    return lines


def _value_columns(value: Data) -> tuple[str, str]:
    if value is None:
        return "none", ""
    array = np.asarray(value)
    return f"{dtype_name(array.dtype)} {list(array.shape)}", value_text(array, VALUE_MAX_CHARS)


def run_json(run: Run, seconds: float) -> dict[str, Any]:
    """The object of ``--json``: strict JSON, so that a number that is not finite is null.

    ``min``, ``max`` and ``mean`` of an output are what NumPy gives, null also for strings and where there is no
    element; ``nan`` and ``inf`` count such elements and stand there only where there are any. A sequence has
    ``sequence``, a list of such objects; an empty optional is null. A nested loop has ``entries`` and ``reasons``.
    """
    return {
        "outputs": {name: json_with_statistics(value) for name, value in run.outputs.items()},
        "loops": [_loop_json(loop, run.loops) for loop in run.loops],
        "seconds": seconds,
        "notes": run_notes(run),
    }


def _loop_json(loop: LoopTotals, loops: Sequence[LoopTotals]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": loop.name,
        "path": loop.path,
        "iterations": loop.iterations,
        "stopped_by": None if loop.stopped_by is None else loop.stopped_by.value,
    }
    if is_nested(loop, loops):
        told["entries"] = loop.entries
        told["reasons"] = {reason.value: count for reason, count in loop.reasons.items()}
    return told
