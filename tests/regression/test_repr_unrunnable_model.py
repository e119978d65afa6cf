"""``repr`` of a model that loads but cannot be run says what it is; a notebook calls it."""

from __future__ import annotations

from text_models import model


def test_repr_needs_no_plan() -> None:
    result = model(
        """
        g (int64 M, float x0) => (float last) {
          last = Loop <body = b (int64 i, bool c, float x) => (bool c, float y) { y = NoSuchOperator (x) }> (M, , x0)
        }
        """
    )
    assert repr(result) == "<Model g: (M int64[], x0 float32[]) -> (last float32[]), 1 loops>"
