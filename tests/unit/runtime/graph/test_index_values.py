"""Which integers of a loop pick something."""

from __future__ import annotations

import pytest

from loopdbg.runtime.graph import loops
from loopdbg.runtime.graph.index_values import find_index_values
from text_models import model


def picked(carried: str, body: str, results: str, collected: str = "int64 s") -> set[str]:
    """The names of what picks, in a loop of such a body; it may read ``table``, ``i`` and what it carries."""
    each = carried.split(", ")
    lasts = ", ".join(f"last_{item.split()[-1]}" for item in each)
    initial = ", ".join("zeros" if "[" in entry else "zero" for entry in each)
    yields = f"bool go, {results}, {collected}"
    loop = model(f"""g (float[9] table, float[9] w) => (int64[m] all) {{
      n = Constant <value_int = 3> ()
      zero = Constant <value_int = 0> ()
      zeros = Constant <value_ints = [0, 0]> ()
      {lasts}, all = Loop (n, , {initial}) <body = b (int64 i, bool c, {carried}) => ({yields}) {{
        go = Identity (c)
        one = Constant <value_int = 1> ()
        {body}
      }}>
    }}""")
    (result,) = loops(loop.graph)
    return {value.name for value in find_index_values(result)}


def test_a_token_and_a_counter() -> None:
    body = """e = Gather (table, tok)
        all_of_it = Mul (e, w)
        best = ArgMax <axis = 0, keepdims = 0> (all_of_it)
        k2 = Add (k, one)
        s = Identity (best)"""
    assert picked("int64 tok, int64 k", body, "int64 best, int64 k2") == {"tok", "s"}
    # What counts on is none, though it picks a part.
    counts = "e = Gather (table, k)\n k2 = Add (k, one)\n s = Identity (k2)"
    assert picked("int64 k", counts, "int64 k2") == set()


def test_tokens_so_far() -> None:
    body = """best = ArgMax <axis = 0, keepdims = 1> (w)
        now = Concat <axis = 0> (past, best)
        s = Squeeze (best)"""
    assert picked("int64[t] past", body, "int64[u] now") == {"past", "s"}


@pytest.mark.parametrize(
    ("node", "index"),
    [
        ("s = Size (w)", False),
        ("v, p = TopK (w, ones)\n ones = Constant <value_ints = [1]> ()\n s = Squeeze (p)", True),
        ("p = ArgMax <axis = 0, keepdims = 0> (w)\n s = Add (p, one)", False),
        ("h = Cast <to = 7> (w)\n s = ReduceMax <keepdims = 0> (h)", False),
    ],
)
def test_index_value_of_operator_result(node: str, index: bool) -> None:
    lines = sorted(node.split("\n "), key=lambda line: "Constant" not in line)
    assert picked("int64 k", "\n".join(["k2 = Add (k, one)", *lines]), "int64 k2") == ({"s"} if index else set())


def test_what_is_handed_on_and_read() -> None:
    body = "e = Gather (table, tok)\n tok2 = Identity (tok)\n s = Identity (i)"
    assert picked("int64[2] tok", body, "int64[2] tok2") == {"tok"}
