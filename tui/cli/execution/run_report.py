"""Reports of a headless run, as text lines and as a JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....debugger.describe.termination import loop_end_cause
from ....debugger.value_json import json_with_statistics
from ....runtime.graph import StoppedBy
from ....runtime.model import Data, LoopTotals, Run
from ....runtime.text import count_text, duration_text
from ...render.formatting import dtype_name, escape_unprintable, value_text

#: Longest text of a value; longer values are summarised.
VALUE_MAX_CHARS = 100
#: Most listed elements of a sequence.
LISTED_ELEMENTS_MAX = 8
_NOT_COMPUTED_TEXT = "not computed"


def is_nested(loop: LoopTotals, loops: Sequence[LoopTotals]) -> bool:
    """Whether a loop is inside another one."""
    return any(loop.path.startswith(f"{outer.path} ▸ ") for outer in loops if outer is not loop)


def run_notes(run: Run) -> list[str]:
    """Notes on the model, and on differences from real runtimes (docs/peers.md)."""
    return [*run.notes, *(f"loop '{loop.name}': {note}" for loop in run.loops for note in loop.notes)]


def diagnosis_hint(run: Run) -> str:
    """Where a run looks wrong at no cost: a pointer to ``--diagnose``; else ""."""
    if run.stopped_by is StoppedBy.LIMIT:
        return "--diagnose tells whether its state still changes, and what else is suspicious"
    floats = (value for value in run.outputs.values() if isinstance(value, np.ndarray) and value.dtype.kind == "f")
    if any(np.isnan(value).any() for value in floats):
        return "an output has NaN: --break nan finds where it begins, --diagnose what is suspicious"
    return ""


def loop_lines(model: str, run: Run, seconds: float | None) -> list[str]:
    """One line per loop; nested ones are indented. ``seconds``: None if the run had stops, so that the time is not that
    of the iterations."""
    model = escape_unprintable(model)
    if not run.loops:
        duration = "" if seconds is None else f" in {duration_text(seconds)}"
        return [f"{model}: ran{duration}; it has no loop"]
    lines = []
    name_counts = Counter(loop.name for loop in run.loops)
    for loop in run.loops:
        name = f"'{escape_unprintable(loop.name if name_counts[loop.name] == 1 else loop.path)}'"
        count = f"{count_text(loop.iterations, 'iteration')} of {name}"
        if is_nested(loop, run.loops):
            lines.append(f"  {count} in {count_text(loop.entries, 'entry', 'entries')}{_end_reasons_text(loop)}")
            continue
        per_iteration = f" ({duration_text(loop.seconds / loop.iterations)} each)" if loop.iterations else ""
        duration = "" if seconds is None else f" in {duration_text(loop.seconds)}{per_iteration}"
        lines.append(f"{model}: {count}{duration}, {_loop_end_text(loop)}")
    return lines


def _loop_end_text(loop: LoopTotals) -> str:
    return "never entered" if loop.stopped_by is None else f"stopped by {loop_end_cause(loop.stopped_by)}"


def _end_reasons_text(loop: LoopTotals) -> str:
    if not loop.reasons:
        return ""
    single = len(loop.reasons) == 1
    parts = (
        loop_end_cause(reason) if single else f"{loop_end_cause(reason)} ({count})"
        for reason, count in loop.reasons.items()
    )
    return f", stopped by {', '.join(parts)}"


def output_lines(outputs: dict[str, Data], saved_as: str = "", not_computed: Sequence[str] = ()) -> list[str]:
    """One line per output: name, type, and its value, or the statistics of a large one.

    ``not_computed``: outputs of the model without a value since their types are not supported.
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
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(3)]
    arrow = f"   → {escape_unprintable(saved_as)}" if saved_as else ""
    lines = []
    for name, kind, text in rows:
        mark = arrow if not name.startswith(" ") and kind not in ("none", _NOT_COMPUTED_TEXT) else ""
        text = f"{text:<{widths[2]}}{mark}" if mark else text
        lines.append(f"  {name:<{widths[0]}}   {kind:<{widths[1]}}   {text}".rstrip())
    return lines


def _value_columns(value: Data) -> tuple[str, str]:
    if value is None:
        return "none", ""
    array = np.asarray(value)
    return f"{dtype_name(array.dtype)} {list(array.shape)}", value_text(array, VALUE_MAX_CHARS)


def run_result_json(run: Run, seconds: float) -> dict[str, Any]:
    """The object of ``--json``: strict JSON, where non-finite numbers are null.

    ``min``, ``max`` and ``mean`` of an output are as in NumPy, null also for strings and without elements; ``nan`` and
    ``inf`` count such elements and are omitted if zero. A sequence has ``sequence``, a list of such objects; an empty
    optional is null. A nested loop has ``entries`` and ``reasons``.
    """
    return {
        "outputs": {name: json_with_statistics(value) for name, value in run.outputs.items()},
        "loops": [_loop_json(loop, run.loops) for loop in run.loops],
        "seconds": seconds,
        "notes": run_notes(run),
    }


def _loop_json(loop: LoopTotals, loops: Sequence[LoopTotals]) -> dict[str, Any]:
    report: dict[str, Any] = {
        "name": loop.name,
        "path": loop.path,
        "iterations": loop.iterations,
        "stopped_by": None if loop.stopped_by is None else loop.stopped_by.value,
    }
    if is_nested(loop, loops):
        report["entries"] = loop.entries
        report["reasons"] = {reason.value: count for reason, count in loop.reasons.items()}
    return report
