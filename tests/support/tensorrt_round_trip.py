"""A model converted to TensorRT network code and reloaded, compared with the original iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from loopdbg.debugger.session.stop import Reason
from loopdbg.debugger.tensorrt_export.network_writer import to_tensorrt_script
from loopdbg.runtime.errors import ExecutionError
from loopdbg.runtime.graph import TensorType

#: Longer loops are aborted.
MAX_ITERATIONS = 300
#: Loop path, entry, and the carried values by name before each of its boundaries.
CarriedByBoundary = dict[tuple[str, tuple[int, ...]], list[dict[str, Any]]]


def convert_and_reload(
    model: loopdbg.Model, inputs: Mapping[str, Any], folder: Path, longest: int = 64
) -> loopdbg.Model:
    """Convert a model to a TensorRT network, write its code, and load it again.

    Raises:
        UnsupportedError: TensorRT cannot express the model.
    """
    shapes = {name: TensorType(np.asarray(value).dtype, np.asarray(value).shape) for name, value in inputs.items()}
    script = to_tensorrt_script(model.graph, model.name, shapes, longest)
    path = folder / "network.py"
    path.write_text(script.text)
    if script.weights:
        np.savez(path.with_suffix(".npz"), **script.weights)
    return loopdbg.load(path)


def record_carried(model: loopdbg.Model, inputs: Mapping[str, Any]) -> tuple[CarriedByBoundary, dict[str, Any] | None]:
    """The carried values at each boundary, and the outputs; None if the run fails."""
    boundary: CarriedByBoundary = {}
    try:
        session = loopdbg.debug(model, inputs, max_iterations=MAX_ITERATIONS)
        while not session.done and session.stop.reason not in (Reason.LIMIT, Reason.ERROR):
            frame = session.frame
            if frame.loop is not None and frame.at_boundary:
                key = (frame.path, tuple(frame.entry))
                row = {edge.param: np.array(edge.value) for edge in frame.back_edges if edge.ready}
                rows = boundary.setdefault(key, [])
                if len(rows) == frame.iteration:
                    rows.append(row)
            session.into()
    except ExecutionError:
        return boundary, None
    return boundary, session.outputs if session.done else None


def equal_values(a: Any, b: Any, exact: bool) -> bool:
    """Whether numbers are equal; ``exact``: bit for bit except for signs of zero and NaN payloads."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.size != b.size:
        return False
    a, b = a.reshape(-1), b.reshape(-1)
    if exact or a.dtype.kind in "iub":
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))


def is_padded_copy(theirs: Any, ours: Any, exact: bool) -> bool:
    """Whether a padded scan output begins with the collected rows, and continues with zeros."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape == theirs.shape:
        return equal_values(ours, theirs, exact)
    if ours.ndim != theirs.ndim or ours.dtype != theirs.dtype:
        return False
    index = tuple(slice(0, n) for n in ours.shape)
    rest = np.array(theirs)
    rest[index] = np.zeros((), rest.dtype)
    return equal_values(theirs[index], ours, exact) and not rest.any()


def first_difference(ours: CarriedByBoundary, theirs: CarriedByBoundary, exact: bool) -> str:
    """The first boundary at which a carried value differs; empty if there is none.

    TensorRT derives nesting from data flow: an inner loop that does not depend on the outer one is outside it there,
    and its single entry corresponds to each of ours.
    """
    results = {path.rsplit(" ▸ ", 1)[-1]: rows for (path, entry), rows in theirs.items() if not entry}
    for (path, entry), rows in ours.items():
        result = theirs.get((path, entry), results.get(path.rsplit(" ▸ ", 1)[-1]))
        if result is None:
            return f"{path} {entry}: not entered"
        if len(result) != len(rows):
            return f"{path} {entry}: {len(rows)} boundaries, and {len(result)} when converted"
        for iteration, (row, other) in enumerate(zip(rows, result, strict=True)):
            for name, value in row.items():
                # If an outer value has the same name, a body's own gets a number.
                is_present = other.get(f"{name}_2", other.get(name))
                if is_present is None or not equal_values(value, is_present, exact):
                    return f"{path} {entry}: {name} before iteration {iteration}: {value}, converted {is_present}"
    return ""
