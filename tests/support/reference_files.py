"""References for tests: the values of a model of ours, as a third party might have recorded them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from loopdbg.debugger.compare.reference_match.reference_comparison import compare_reference
from loopdbg.debugger.compare.reference_match.value_locations import LocationIndex, ValueLocation
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.sides import ModelSide, iterate_side, iteration_key
from loopdbg.debugger.reference.reference import Key, Reference, Track
from loopdbg.debugger.reference.reference_files import read_reference_file


def record_reference(model: loopdbg.Model, inputs: Mapping[str, Any]) -> list[tuple[ValueLocation, Track]]:
    """Every value that the nodes of a model compute, in every iteration."""
    side = ModelSide(model, inputs)
    layout = LocationIndex(model.graph, side.loops)
    values: dict[ValueLocation, dict[Key, Any]] = {spot: {} for spot in layout.locations.values() if not spot.role}
    wanted = {path: [spot.value for spot in values if spot.path == path] for path in layout.loops}
    for boundary, reader in iterate_side(side, wanted):
        for spot, result in values.items():
            if spot.path == boundary.loop and (boundary.iteration or not boundary.loop):
                is_present, data = reader.read(spot.value)
                if is_present:
                    result[iteration_key(boundary)] = data
    return [(spot, Track(spot.name, outcome)) for spot, outcome in values.items() if outcome]


def write_anonymous_reference(path: Path, tracks: Mapping[str, Track]) -> Reference:
    """Write tracks as a third-party file with new names, and read it again: arrays with a leading iteration axis if
    possible, else an array per iteration."""
    arrays: dict[str, Any] = {}
    for name, track in tracks.items():
        whole = stack_iterations(track.values)
        if whole is not None:
            arrays[name] = whole
        else:
            arrays |= {"/".join([name, *map(str, key)]): data for key, data in track.values.items()}
    np.savez(path, **arrays)
    return read_reference_file(path)


def stack_iterations(values: Mapping[Key, Any]) -> Any:
    """Values of equal shapes in consecutive iterations as one array; None if they are not."""
    extent = [1 + max(numbers) for numbers in zip(*values, strict=True)]
    if len({np.shape(data) for data in values.values()}) != 1 or len(values) != int(np.prod(extent)):
        return None
    shape = (*extent, *np.shape(next(iter(values.values()))))
    return np.stack([values[key] for key in sorted(values)]).reshape(shape)


def compare_with_reference(
    model: loopdbg.Model, inputs: Mapping[str, Any], reference: Reference, options: ComparisonOptions | None = None
) -> Comparison:
    """The result of a comparison with a reference."""
    return compare_reference(ModelSide(model, inputs), reference, options or ComparisonOptions())


def perturb_track(track: Track, key: Key, index: int) -> Track:
    """A track with one element of one iteration changed."""
    data = np.array(track.values[key])
    flat = data.reshape(-1)
    flat[index] = not flat[index] if data.dtype == bool else flat[index] + 1 if np.isfinite(flat[index]) else 0
    return replace(track, values={**track.values, key: data})
