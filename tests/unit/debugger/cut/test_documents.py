"""What is cut out of a model computes what it computed there: to the bit, in ONNX models and IRs alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.cut.document import Candidate, Document, Step
from loopdbg.debugger.cut.find import document_of
from loopdbg.debugger.cut.lab import Lab, values_of
from loopdbg.debugger.cut.passes import peeled
from loopdbg.debugger.cut.predicate import Shown
from models import SAMPLES, sample

#: One that nothing ends is left out.
MODELS = sorted({path.name for kind in ("*.onnx", "*.xml") for path in SAMPLES.glob(kind)} - {"loop_infinite.xml"})
#: Bodies that do not look at the iteration number.
UNCOUNTED = ["newton_sqrt.onnx", "loop_for_condition.xml", "lstm.xml", "reverse_sum.xml", "loop_while.xml"]


class Everything:
    """A finding that every candidate shows."""

    loose = True
    like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        """Always the same."""
        return Shown("value")


def lab_of(name: str) -> Lab:
    """The inputs in the order of the model."""
    model, inputs = sample(name)
    document = document_of(model)
    given = {port.name: inputs[port.name] for port in model.inputs}
    return Lab(Everything(), Candidate((document,), given), Shown("value"))


def same(a: Any, b: Any) -> bool:
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def run(document: Document, candidate: Candidate) -> dict[str, Any]:
    return document.model().run(candidate.of(document))


@pytest.mark.parametrize("name", MODELS)
def test_a_document_is_the_model(name: str) -> None:
    model, inputs = sample(name)
    lab = lab_of(name)
    found = run(lab.main, lab.best)
    assert all(same(a, b) for a, b in zip(model.run(inputs).values(), found.values(), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_frozen_changes_no_result(name: str) -> None:
    lab = lab_of(name)
    values = lab.values()
    want = run(lab.main, lab.best)
    for step in lab.main.steps()[:-1]:
        frozen = {name: values[name] for name in step.outputs}
        new = lab.best.copy()
        new.documents[0].freeze(frozen)
        cut = Candidate(new.documents, {**new.inputs, **frozen}).cleaned()
        left = {k: v for k, v in want.items() if k in cut.documents[0].outputs}
        found = run(cut.documents[0], cut)
        assert set(found) == set(left) and all(same(found[k], left[k]) for k in left)
        assert step.key not in [one.key for one in cut.documents[0].steps()]


@pytest.mark.parametrize("name", MODELS)
def test_an_iteration_by_itself_gives_what_is_carried_on(name: str) -> None:
    lab = lab_of(name)
    values = lab.values()
    peeled_any = 0
    for step in lab.main.loops():
        for at in range(min(lab.trips(step), 3)):
            cut = peeled(lab, step.key, at, values)
            after = lab.state(step.key, at + 1, values)
            assert cut is not None and after is not None
            given = [*run(cut.documents[0], cut).values(), *cut.inputs.values()]
            assert all(any(same(one, other) for other in given) for one in after), (step, at)
            peeled_any += 1
    assert peeled_any or name in ("two_layer_lstm.onnx",)


@pytest.mark.parametrize("name", UNCOUNTED)
def test_a_loop_that_begins_late_ends_the_same(name: str) -> None:
    lab = lab_of(name)
    (step,) = lab.main.loops()
    values, trips = lab.values(), lab.trips(step)
    want = lab.state(step.key, trips, values)
    state = lab.state(step.key, 2, values)
    assert want is not None and state is not None and trips > 2
    begun = lab.changed(lambda document: document.begin(step.key, 2, state, values))
    assert begun is not None
    begun = begun.cleaned()
    late = Lab(Everything(), begun, Shown("value"))
    assert late.trips(step) == trips - 2
    found = late.state(step.key, trips - 2, late.values())
    assert found is not None and all(map(same, found, want))


@pytest.mark.parametrize("name", MODELS)
def test_a_loop_that_is_limited_runs_no_longer(name: str) -> None:
    lab = lab_of(name)
    values = lab.values()
    for step in lab.main.loops():

        def act(document: Document, step: Step = step) -> Any:
            document.show({name: values[name] for name in step.outputs})  # what comes later may need all rows
            return document.limit(step.key, (), 1, values)

        limited = lab.changed(act)
        if limited is not None:
            assert Lab(Everything(), limited.cleaned(), Shown("value")).trips(step) == 1
        else:
            assert lab.trips(step) <= 1


def test_values_are_those_of_the_main_graph() -> None:
    model, inputs = sample("vanishing_scale.onnx")
    document = document_of(model)
    found = values_of(document, inputs, None)
    assert same(found["sizes"], model.run(inputs)["sizes"]) and same(found["h0"], inputs["h0"])
