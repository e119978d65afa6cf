"""A constant trip count of another type was compared as a number while notes on the model were made."""

from __future__ import annotations

from error_fields import raises_error
from loopdbg.runtime.errors import ExecutionError
from text_models import model

MODEL = """g (float x0) => (float x) {
  n = Constant <value_string = "many"> ()
  x = Loop <body = b (int64 i, bool c, float v) => (bool c2, float v2) { c2 = Less (v, v) v2 = Add (v, v) }> (n, , x0)
}"""


def test_it_is_an_error_of_the_model() -> None:
    with raises_error(ExecutionError, loop="Loop_1", name="n", expected="one integer", got="string []"):
        model(MODEL).run({"x0": 1.0})
