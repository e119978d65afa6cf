"""Results that are too large to be copied: memory of the engine, which is then replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparable_values import all_exact_bits
from loopdbg.runtime import model as models
from text_models import model

from .growing_loops import CASES, inputs_of


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"attention"}))
def test_results_are_the_same_and_stay_as_they_are(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, inputs = model(CASES[case][0]), inputs_of(case)
    expected = loaded.run(inputs)
    monkeypatch.setattr(models, "HAND_OVER_MIN_BYTES", 1)
    first = loaded.run(inputs)
    assert all_exact_bits(first) == all_exact_bits(expected)
    for k, value in enumerate(first.values()):
        others: list[Any] = [*list(first.values())[:k], *inputs.values()]
        assert not any(np.shares_memory(value, other) for other in others if isinstance(other, np.ndarray))
    assert all_exact_bits(loaded.run(inputs)) == all_exact_bits(expected)
    assert all_exact_bits(first) == all_exact_bits(expected)
    run = loaded.execute(inputs, on_iteration=lambda frame: None)
    assert all_exact_bits(run.outputs) == all_exact_bits(expected)
