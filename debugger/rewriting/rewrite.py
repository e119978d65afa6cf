"""A rewrite of a model file, and its verification: both models run on many inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import ExecutionError, InputError, LimitError, LoopdbgError, one_line
from ...runtime.model import Data, Model
from ..compare.running.value_comparison import Tolerance, compare
from .editable_model import EditableModel

#: A loop that runs longer is cut in both runs, and then nothing is compared.
_MAX_ITERATIONS = 10_000
#: Where the original fails on most inputs, this many runs have to succeed.
_ENOUGH_INPUTS = 10


@dataclass(frozen=True)
class Rewrite:
    """An edit that keeps what a model computes.

    ``kind``: its name; ``path``: of the loop, or ``main``; ``node``: the name of what it changes; ``reason``: one line,
    what it does and why. ``edit``: changes a copy of the model that the rewrite was found in; it finds the place by
    names, so that other rewrites may come before it.
    """

    kind: str
    path: str
    node: str
    reason: str
    edit: Callable[[Any], None]

    def apply(self, model: EditableModel) -> None:
        """Edit a model in place.

        Raises:
            UnsupportedError: the file cannot express it.
        """
        self.edit(model)


@dataclass(frozen=True)
class Verification:
    """What runs of two models showed.

    ``compared``: inputs on which both ran to the end; ``failed``: those on which the original fails, or does not end.
    ``difference``: the first one, one sentence; empty without. ``largest``: the largest absolute difference that a
    tolerance allowed; 0.0 where all results are bit-identical.
    """

    compared: int
    failed: int = 0
    difference: str = ""
    largest: float = 0.0

    @property
    def is_identical(self) -> bool:
        """Whether all results are the same, bit for bit, on enough inputs."""
        return self.agrees and not self.largest

    @property
    def agrees(self) -> bool:
        """Whether all results are the same, within the tolerance, on enough inputs: ten, or half of them."""
        return not self.difference and self.compared > 0 and self.compared >= min(self.failed, _ENOUGH_INPUTS)

    @property
    def text(self) -> str:
        """One sentence."""
        if self.difference:
            return self.difference
        if not self.agrees:
            return f"the model itself fails on {self.failed} of {self.failed + self.compared} inputs"
        rounded = f"within {self.largest:g}" if self.largest else "bit for bit"
        return f"the same results on {self.compared} inputs, {rounded}"


def verify_rewrite(
    original: Model,
    rewritten: Model,
    inputs: Iterable[Mapping[str, Data]],
    seconds: float,
    tolerance: Tolerance | None = None,
) -> Verification:
    """Run two models on the same inputs and compare their results.

    Args:
        original: the model before the edit.
        rewritten: the model after it.
        inputs: of each run.
        seconds: no run starts after this time, except the first.
        tolerance: what results may differ by; None: they have to be bit-identical.

    Returns:
        What was compared, until the first difference.
    """
    difference = _signature_difference(original, rewritten)
    if difference:
        return Verification(0, difference=difference)
    end = time.monotonic() + seconds
    compared = failed = 0
    largest = 0.0
    for number, values in enumerate(inputs):
        if number and time.monotonic() > end:
            break
        expected = _results_or_error(original, values)
        if isinstance(expected, str):
            failed += 1
            continue
        got = _results_or_error(rewritten, values)
        if isinstance(got, str):
            return Verification(compared, failed, f"input {number}: the edited model fails: {got}")
        for name, value in expected.items():
            if bit_identical(value, got[name]):
                continue
            delta = compare(value, got[name], tolerance or Tolerance(0.0, 0.0))
            if tolerance is None or delta.kind:
                return Verification(compared, failed, f"input {number}: {_difference_text(name, value, got[name])}")
            largest = max(largest, delta.absolute)
        compared += 1
    return Verification(compared, failed, largest=largest)


def bit_identical(left: Any, right: Any) -> bool:
    """Whether two values have the same type, shape and bits; all NaNs are alike."""
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        if not isinstance(left, list | tuple) or not isinstance(right, list | tuple) or len(left) != len(right):
            return False
        return all(map(bit_identical, left, right))
    if left is None or right is None:
        return left is right
    a, b = np.asarray(left), np.asarray(right)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return bool((a == b).all())
    if a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        nans = a != a
        same = bool((nans == (b != b)).all())
        return same and bool(nans.any()) and a[~nans].tobytes() == b[~nans].tobytes()


def _results_or_error(model: Model, inputs: Mapping[str, Data]) -> dict[str, Data] | str:
    """The results of a run from the initial state, or why there are none."""
    if model.state:
        model.reset()
    try:
        return model.run(inputs, max_iterations=_MAX_ITERATIONS)
    except (ExecutionError, InputError, LimitError) as error:
        return one_line(error)


def _signature_difference(original: Model, rewritten: Model) -> str:
    """Names and element types of inputs and outputs have to stay; shapes may be declared in other words."""
    for word in ("inputs", "outputs"):
        before, after = ([(port.name, port.dtype) for port in getattr(model, word)] for model in (original, rewritten))
        if before != after:
            return f"the {word} are other ones: {_ports_text(after)} instead of {_ports_text(before)}"
    return ""


def _ports_text(ports: list[tuple[str, Any]]) -> str:
    return ", ".join(f"'{name}' {dtype}" for name, dtype in ports)


def _difference_text(name: str, left: Any, right: Any) -> str:
    delta = compare(left, right, Tolerance(0.0, 0.0))
    if not delta.kind:
        return f"'{name}' differs in the sign of a zero"
    if delta.kind != "value":
        return f"'{name}' differs in its {delta.kind}"
    return f"'{name}' differs by up to {delta.absolute:g}"


def apply_verified(
    model: EditableModel,
    rewrites: Iterable[Rewrite],
    original: Model,
    inputs: Sequence[Mapping[str, Data]],
    seconds: float,
    tolerance: Tolerance | None = None,
) -> tuple[EditableModel | None, Verification]:
    """Apply rewrites to a copy of a model, and verify the copy against the original; None: it is not the same."""
    edited = model.copy()
    try:
        for rewrite in rewrites:
            rewrite.apply(edited)
        rewritten = edited.load()
        rewritten.plan  # noqa: B018  compiled here, so that an operator that cannot run is refused here
    except LoopdbgError as error:
        return None, Verification(0, difference=f"not possible: {one_line(error)}")
    if model.is_valid() and not edited.is_valid():
        return None, Verification(0, difference="the checker of its format rejects the edited model")
    result = verify_rewrite(original, rewritten, inputs, seconds, tolerance)
    return (edited if result.agrees else None), result
