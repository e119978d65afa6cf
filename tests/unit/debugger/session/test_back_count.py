"""``back N`` equals N times ``back``, in one move."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from text_models import model

from ....property.test_reverse_continue import NESTED


@pytest.mark.parametrize(("iteration", "node"), [(0, True), (3, False), (3, True), (9, False), (9, True)])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 13, 40])
def test_back_count_equals_repeated_back(iteration: int, count: int, node: bool) -> None:
    m = model(NESTED)
    sessions = [loopdbg.debug(m, {"M": np.int64(12), "v0": np.int64(2)}) for _ in range(2)]
    for session in sessions:
        session.goto(iteration)
        if node:
            session.into()
    at_once = sessions[0].back(count)
    for _ in range(count):
        if sessions[1].controller.is_at_beginning:
            break
        one_by_one = sessions[1].back()
    assert at_once == one_by_one
    assert sessions[0].controller.position == sessions[1].controller.position
