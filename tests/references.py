"""References for tests: what a model of ours computes, as somebody else might have recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from loopdbg.debugger.diff.against_reference import compare_reference
from loopdbg.debugger.diff.findings import Comparison
from loopdbg.debugger.diff.layout import Layout, Spot
from loopdbg.debugger.diff.sides import ModelSide
from loopdbg.debugger.diff.steps import steps_of
from loopdbg.debugger.diff.streams import Options
from loopdbg.debugger.reference.files import read_file
from loopdbg.debugger.reference.reference import Key, Reference, Track


def recorded(model: loopdbg.Model, inputs: Mapping[str, Any]) -> list[tuple[Spot, Track]]:
    """Every value that the nodes of a model compute, in every iteration."""
    side = ModelSide(model, inputs)
    layout = Layout(model.graph, side.loops)
    values: dict[Spot, dict[Key, Any]] = {spot: {} for spot in layout.spots.values() if not spot.role}
    wanted = {path: [spot.value for spot in values if spot.path == path] for path in layout.loops}
    for step in steps_of(side, wanted):
        for spot, found in values.items():
            if spot.path == step.loop and (step.iteration >= 0 or not step.loop):
                there, data = step.moment.read(spot.value)
                if there:
                    found[step.key] = data
    return [(spot, Track(spot.name, found)) for spot, found in values.items() if found]


def plain_file(path: Path, tracks: Mapping[str, Track]) -> Reference:
    """Tracks written as a file of somebody else's, by new names, and read again: arrays with iterations in front where
    that can be, else an array an iteration."""
    arrays: dict[str, Any] = {}
    for name, track in tracks.items():
        whole = stacked(track.values)
        if whole is not None:
            arrays[name] = whole
        else:
            arrays |= {"/".join([name, *map(str, key)]): data for key, data in track.values.items()}
    np.savez(path, **arrays)
    return read_file(path)


def stacked(values: Mapping[Key, Any]) -> Any:
    """Values of one shape in iterations without a gap as one array; None where they are not."""
    extent = [1 + max(numbers) for numbers in zip(*values, strict=True)]
    if len({np.shape(data) for data in values.values()}) != 1 or len(values) != int(np.prod(extent)):
        return None
    shape = (*extent, *np.shape(next(iter(values.values()))))
    return np.stack([values[key] for key in sorted(values)]).reshape(shape)


def compared(
    model: loopdbg.Model, inputs: Mapping[str, Any], reference: Reference, options: Options | None = None
) -> Comparison:
    """What a comparison with a reference finds."""
    return compare_reference(ModelSide(model, inputs), reference, options or Options())


def changed(track: Track, key: Key, at: int) -> Track:
    """A track with another number as one element of one iteration."""
    data = np.array(track.values[key])
    flat = data.reshape(-1)
    flat[at] = not flat[at] if data.dtype == bool else flat[at] + 1 if np.isfinite(flat[at]) else 0
    return replace(track, values={**track.values, key: data})
