"""Several requests to a model that keeps variables: the first one that shows a finding by itself."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from .documents.document import ReductionCandidate
from .documents.ir_document import IrDocument
from .interestingness import InterestingnessTest, Observation


def find_first_request(
    model: Model, inputs: Mapping[str, Data], predicate: InterestingnessTest, most: int | None
) -> tuple[int, ReductionCandidate, Observation, int] | None:
    """The first request, begun with what the ones before it assigned, that shows a finding.

    Args:
        model: the loop over the requests.
        inputs: name -> array, with one more axis in front, that of the requests.
        most: no loop runs more iterations.

    Returns:
        The number of the request, the model as it begins there, what it shows, and how many iterations its loops run at
        most; None where none shows it.

    Raises:
        ExecutionError, LimitError: a request does not run.
    """
    assert model.path is not None
    one = load(model.path, model._internals.weights)
    one.state.update(model.state)
    document = IrDocument.read(model.path, model._internals.weights)
    for k in range(len(next(iter(inputs.values())))):
        given = {name: value[k] for name, value in inputs.items()}
        begun = document.copy()
        begun.set_initial_state(one.state)
        candidate = ReductionCandidate((begun,), given)
        shown = predicate(candidate)
        run = one.execute(given, max_iterations=most)
        if shown is not None:
            return k, candidate, shown, max((loop.iterations for loop in run.loops), default=0) + 1
    return None
