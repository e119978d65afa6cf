"""Submodels compute what they computed in the model, bit for bit, in ONNX models and IRs alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.reduce.documents.document import Document, DocumentNode, ReductionCandidate
from loopdbg.debugger.reduce.initial_candidate import document_from_model
from loopdbg.debugger.reduce.interestingness import Observation
from loopdbg.debugger.reduce.reduction_passes import single_iteration_candidate
from loopdbg.debugger.reduce.reduction_session import ReductionSession, document_values
from text_models import SAMPLES, sample

#: Without those that never end.
MODELS = sorted({path.name for kind in ("*.onnx", "*.xml") for path in SAMPLES.glob(kind)} - {"loop_infinite.xml"})
#: Bodies that do not read the iteration number.
UNCOUNTED = ["newton_sqrt.onnx", "loop_for_condition.xml", "lstm.xml", "reverse_sum.xml", "loop_while.xml"]


class AlwaysInteresting:
    """A predicate that every candidate satisfies."""

    allows_other_values = True
    first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        """Always the same observation."""
        return Observation("value")


def reduction_session(name: str) -> ReductionSession:
    """A reduction session with the inputs in the model's order."""
    model, inputs = sample(name)
    document = document_from_model(model)
    feeds = {port.name: inputs[port.name] for port in model.inputs}
    return ReductionSession(AlwaysInteresting(), ReductionCandidate((document,), feeds), Observation("value"))


def same(a: Any, b: Any) -> bool:
    item, other = np.asarray(a), np.asarray(b)
    return item.dtype == other.dtype and item.shape == other.shape and item.tobytes() == other.tobytes()


def run(document: Document, candidate: ReductionCandidate) -> dict[str, Any]:
    return document.build_model().run(candidate.inputs_for(document))


@pytest.mark.parametrize("name", MODELS)
def test_document_equals_the_model(name: str) -> None:
    model, inputs = sample(name)
    lab = reduction_session(name)
    result = run(lab.main_document, lab.best)
    assert all(same(a, b) for a, b in zip(model.run(inputs).values(), result.values(), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_freezing_changes_no_result(name: str) -> None:
    lab = reduction_session(name)
    values = lab.values()
    want = run(lab.main_document, lab.best)
    for step in lab.main_document.nodes()[:-1]:
        frozen = {name: values[name] for name in step.outputs}
        new = lab.best.copy()
        new.documents[0].replace_by_inputs(frozen)
        cut = ReductionCandidate(new.documents, {**new.inputs, **frozen}).remove_dead()
        left = {k: v for k, v in want.items() if k in cut.documents[0].outputs}
        result = run(cut.documents[0], cut)
        assert set(result) == set(left) and all(same(result[k], left[k]) for k in left)
        assert step.key not in [node.key for node in cut.documents[0].nodes()]


@pytest.mark.parametrize("name", MODELS)
def test_single_iteration_gives_the_carried_values(name: str) -> None:
    lab = reduction_session(name)
    values = lab.values()
    peeled_any = 0
    for step in lab.main_document.loops():
        for index in range(min(lab.trip_count(step), 3)):
            cut = single_iteration_candidate(lab, step.key, index, values)
            after = lab.carried_state(step.key, index + 1, values)
            assert cut is not None and after is not None
            inputs = [*run(cut.documents[0], cut).values(), *cut.inputs.values()]
            assert all(any(same(item, other) for other in inputs) for item in after), (step, index)
            peeled_any += 1
    assert peeled_any or name in ("two_layer_lstm.onnx",)


@pytest.mark.parametrize("name", UNCOUNTED)
def test_loop_started_late_has_the_same_end(name: str) -> None:
    lab = reduction_session(name)
    (step,) = lab.main_document.loops()
    values, trips = lab.values(), lab.trip_count(step)
    want = lab.carried_state(step.key, trips, values)
    state = lab.carried_state(step.key, 2, values)
    assert want is not None and state is not None and trips > 2
    begun = lab.apply_edit(lambda document: document.start_at_iteration(step.key, 2, state, values))
    assert begun is not None
    begun = begun.remove_dead()
    late = ReductionSession(AlwaysInteresting(), begun, Observation("value"))
    assert late.trip_count(step) == trips - 2
    result = late.carried_state(step.key, trips - 2, late.values())
    assert result is not None and all(map(same, result, want))


@pytest.mark.parametrize("name", MODELS)
def test_limited_loop_runs_no_longer(name: str) -> None:
    lab = reduction_session(name)
    values = lab.values()
    for step in lab.main_document.loops():

        def act(document: Document, step: DocumentNode = step) -> Any:
            document.set_outputs({name: values[name] for name in step.outputs})  # later nodes may need all rows
            return document.limit_iterations(step.key, (), 1, values)

        limited = lab.apply_edit(act)
        if limited is not None:
            assert (
                ReductionSession(AlwaysInteresting(), limited.remove_dead(), Observation("value")).trip_count(step) == 1
            )
        else:
            assert lab.trip_count(step) <= 1


def test_values_are_those_of_the_main_graph() -> None:
    model, inputs = sample("vanishing_scale.onnx")
    document = document_from_model(model)
    result = document_values(document, inputs, None)
    assert same(result["sizes"], model.run(inputs)["sizes"]) and same(result["h0"], inputs["h0"])


def test_iterations_of_models_that_carry_different_values_do_not_correspond() -> None:
    lab = reduction_session("lstm.xml")
    fewer = lab.main_document.copy()
    loop, index = fewer.carried_values()[0]
    assert fewer.remove_carried(loop, index)
    both = ReductionSession(
        AlwaysInteresting(), ReductionCandidate((lab.main_document, fewer), lab.best.inputs), Observation("value")
    )
    assert single_iteration_candidate(lab, loop.key, 1, lab.values()) is not None
    assert single_iteration_candidate(both, loop.key, 1, both.values()) is None
