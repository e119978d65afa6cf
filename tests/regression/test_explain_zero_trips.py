"""explain spoke of one iteration where none runs, and stated 0 where the model says -3."""

from __future__ import annotations

import pytest

from loopdbg.debugger.describe.explain import explain
from text_models import model

MODEL = """g (float x0) => (float x) {
  n = Constant <value = int64 {TRIPS}> ()
  first = Constant <value = bool {FIRST}> ()
  x = Loop <body = b (int64 i, bool c, float v) => (bool c2, float v2) {
    c2 = Constant <value = bool {BODY}> ()
    v2 = Add (v, v)
  }> (n, first, x0)
}"""


@pytest.mark.parametrize(
    ("trips", "first", "body", "begins"),
    [
        (0, 1, 0, "Nothing runs: the trip count is 0."),
        (-3, 1, 0, "Nothing runs: the trip count is -3, and a negative one is none."),
        (0, 1, 1, "Nothing runs: the trip count is 0."),
        (4, 0, 0, "It never starts"),
        (0, 0, 0, "It never starts"),
        (4, 1, 0, "After one iteration"),
        (4, 1, 1, "After exactly 4 iterations."),
    ],
)
def test_what_ends_a_loop(trips: int, first: int, body: int, begins: str) -> None:
    text = MODEL.replace("TRIPS", str(trips)).replace("FIRST", str(first)).replace("BODY", str(body))
    (result,) = explain(model(text))
    message = " ".join(result.ends)
    assert message.startswith(begins)
    assert ("iteration" in message) is ("After" in begins)
