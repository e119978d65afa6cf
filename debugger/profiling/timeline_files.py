"""Profiles as files of timeline viewers: speedscope, and the trace events that Perfetto and chrome://tracing open.

An engine that measures each event would be slower, so events are means: in each segment, an iteration has the mean time
of that segment's iterations, and its nodes follow one another in the order of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import write_text
from ...runtime.errors import UsageError, one_line
from .profile import LoopCosts, NodeProfile, Profile

_SPEEDSCOPE_SUFFIX, _PERFETTO_SUFFIX = ".speedscope.json", ".perfetto.json"
TIMELINE_SUFFIXES = (_SPEEDSCOPE_SUFFIX, _PERFETTO_SUFFIX)
_SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True)
class _Event:
    """A span of time, in seconds; ``depth``: the number of spans around it."""

    name: str
    category: str
    start: float
    seconds: float
    depth: int


def is_timeline_path(path: Path) -> bool:
    """Whether a file gets a timeline, by its name."""
    return path.name.endswith(TIMELINE_SUFFIXES)


def save_timeline(profile: Profile, path: Path) -> None:
    """Write a profile as a timeline; the name of the file says which kind.

    Raises:
        UsageError: the file cannot be written.
    """
    events = list(_timeline_events(profile))
    make = _speedscope_json if path.name.endswith(_SPEEDSCOPE_SUFFIX) else _trace_events_json
    try:
        write_text(path, json.dumps(make(profile, events), allow_nan=False))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or one_line(error)}") from None


def _timeline_events(profile: Profile) -> Iterator[_Event]:
    """All spans of a run in the order of their starts, outer ones first."""
    yield _Event(profile.model, "run", 0.0, profile.seconds, 0)
    yield _Event("begin", "run", 0.0, profile.begin_seconds, 1)
    start = profile.begin_seconds
    ordered = sorted(profile.nodes, key=lambda node: node.position)
    outermost = [loop for loop in profile.loops if not any(loop.path.startswith(f"{o.path} ▸ ") for o in profile.loops)]
    for node in ordered:
        if not any(_is_in(node, loop) for loop in outermost):
            yield _Event(_node_title(node), node.op_type, start, node.seconds, 1)
            start += node.seconds
    for loop in outermost:
        yield _Event(f"{loop.op_type} {loop.path}", "loop", start, loop.seconds, 1)
        nodes = [node for node in ordered if _is_in(node, loop)]
        time = start
        for k, segment in enumerate(loop.segments):
            for iteration in range(segment.first, segment.end):
                yield _Event(f"iteration {iteration}", "iteration", time, segment.seconds, 2)
                within = time
                for node in nodes:
                    seconds = node.seconds_by_segment[k] if k < len(node.seconds_by_segment) else 0.0
                    if seconds:
                        yield _Event(_node_title(node), node.op_type, within, seconds, 3)
                        within += seconds
                time += segment.seconds
        if not loop.segments:
            for node in nodes:
                yield _Event(_node_title(node), node.op_type, time, node.seconds, 2)
                time += node.seconds
        start += loop.seconds
    yield _Event("outputs", "run", start, profile.output_seconds, 1)


def _is_in(node: NodeProfile, loop: LoopCosts) -> bool:
    return node.loop == loop.path or node.loop.startswith(f"{loop.path} ▸ ")


def _node_title(node: NodeProfile) -> str:
    return f"{node.op_type} {node.name}"


def _trace_events_json(profile: Profile, events: list[_Event]) -> dict[str, Any]:
    """The JSON object format of trace events, in microseconds."""
    return {
        "displayTimeUnit": "ns",
        "otherData": {"model": profile.model, "runs": profile.runs},
        "traceEvents": [
            {
                "name": event.name,
                "cat": event.category,
                "ph": "X",
                "ts": event.start * 1e6,
                "dur": event.seconds * 1e6,
                "pid": 1,
                "tid": 1,
            }
            for event in events
        ],
    }


def _speedscope_json(profile: Profile, events: list[_Event]) -> dict[str, Any]:
    """An evented profile of speedscope, in microseconds."""
    frames: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    opened: list[tuple[int, float]] = []
    time = 0.0

    def close_to(depth: int) -> None:
        nonlocal time
        while len(opened) > depth:
            frame, end = opened.pop()
            time = max(time, end)
            rows.append({"type": "C", "frame": frame, "at": time})

    for event in events:
        close_to(event.depth)
        frame = frames.setdefault(event.name, len(frames))
        time = max(time, event.start * 1e6)
        rows.append({"type": "O", "frame": frame, "at": time})
        opened.append((frame, (event.start + event.seconds) * 1e6))
    close_to(0)
    return {
        "$schema": _SPEEDSCOPE_SCHEMA,
        "name": profile.model,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [
            {
                "type": "evented",
                "name": profile.model,
                "unit": "microseconds",
                "startValue": 0,
                "endValue": time,
                "events": rows,
            }
        ],
    }
