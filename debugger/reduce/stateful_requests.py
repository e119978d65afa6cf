"""Several requests to a stateful model: the first one that shows a finding by itself, or the shortest sequence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from ..compare.running.sides import ModelSide
from .documents.document import ReductionCandidate
from .documents.ir_document import IrDocument
from .interestingness import InterestingnessTest, Observation, PeerDisagreement


def find_first_request(
    model: Model, inputs: Mapping[str, Data], predicate: InterestingnessTest, cap: int | None
) -> tuple[int, ReductionCandidate, Observation, int] | None:
    """Find the first request, with the state that the previous ones assigned, that shows a finding.

    Args:
        model: the loop over the requests.
        inputs: name -> array, with a leading axis of requests.
        cap: iteration limit of any loop.

    Returns:
        The number of the request, the model with its initial state, the observation, and the iteration limit of its
        loops; None if no request shows it.

    Raises:
        ExecutionError, LimitError: a request does not run.
    """
    assert model.path is not None
    runner = load(model.path, model.graph.weights)
    runner.state.update(model.state)
    document = IrDocument.read(model.path, model.graph.weights)
    for k in range(len(next(iter(inputs.values())))):
        feeds = {name: value[k] for name, value in inputs.items()}
        initial = document.copy()
        initial.set_initial_state(runner.state)
        candidate = ReductionCandidate((initial,), feeds)
        result = predicate(candidate)
        run = runner.execute(feeds, max_iterations=cap)
        if result is not None:
            return k, candidate, result, max((loop.iterations for loop in run.loops), default=0) + 1
    return None


def find_request_sequence(
    model: Model, inputs: Mapping[str, Data], predicate: PeerDisagreement
) -> tuple[ReductionCandidate, Observation] | None:
    """Find the shortest sequence of requests, from the first one on, that shows a finding.

    Args:
        model: the loop over the requests.
        inputs: name -> array, with a leading axis of requests.

    Returns:
        The model with these requests, and the observation; None if all requests together do not show it.
    """
    assert model.path is not None
    document = IrDocument.read(model.path, model.graph.weights)
    document.set_initial_state(model.state)
    document.is_over_requests = True
    typed = ModelSide(model, inputs).inputs
    requests = {name: np.asarray(typed[name]) for name in document.inputs}
    count = len(next(iter(requests.values())))

    def first_requests(length: int) -> ReductionCandidate:
        return ReductionCandidate((document,), {name: value[:length] for name, value in requests.items()})

    whole = predicate(first_requests(count))
    if whole is None:
        return None
    predicate.first_observation = whole
    predicate.needs_fresh_runs = True  # a runtime that loses a variable may read uninitialised memory
    for length in range(1, count):
        result = predicate(first_requests(length))
        if result is not None:
            return first_requests(length), result
    return first_requests(count), whole
