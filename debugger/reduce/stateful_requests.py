"""Several requests to a stateful model: the first one that shows a finding by itself."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from .documents.document import ReductionCandidate
from .documents.ir_document import IrDocument
from .interestingness import InterestingnessTest, Observation


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
