"""Runs a model once on given inputs, with the checks of a fuzzing campaign."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...runtime.input_validation import Data
from ...runtime.model import Model
from .finding import FuzzFinding
from .folder import read_case
from .job import make_fuzz_job
from .trial import TrialRunner


def replay(
    model: Model,
    inputs: Mapping[str, Data] | str | os.PathLike[str],
    *,
    against: str = "",
    asserts: Sequence[str] = (),
    max_iterations: int | None = None,
    timeout: float | None = None,
) -> FuzzFinding | None:
    """Run a model on inputs, or on those of a case; None: nothing fails.

    Raises:
        InputError: the inputs cannot be read, or do not fit.
        UsageError: an assertion is invalid, or there is no such peer or model.
    """
    values = read_case(Path(inputs), model.inputs) if isinstance(inputs, str | os.PathLike) else inputs
    model.check(values)
    path = str(model.path or model.name)
    job = make_fuzz_job(model, path, against=against, asserts=asserts, max_iterations=max_iterations, timeout=timeout)
    trial = TrialRunner(job, model)
    try:
        return trial.locate(values)
    finally:
        trial.executor.close()
