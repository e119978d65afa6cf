"""NumPy gives the one string of a scalar as a str, which was no tensor to stack."""

from __future__ import annotations

import numpy as np
import pytest

from text_models import run

SCALARS = {
    "Gather": "word = Gather (words, i)",
    "Squeeze of a slice": """one = Constant <value = int64 {1}> ()
        zero = Constant <value = int64[1] {0}> ()
        begin = Unsqueeze (i, zero)
        j = Add (i, one)
        end = Unsqueeze (j, zero)
        part = Slice (words, begin, end)
        word = Squeeze (part, zero)""",
    "Identity of a scalar": "word = Identity (single)",
}


@pytest.mark.parametrize("what", SCALARS)
def test_scalar_strings_are_stacked(what: str) -> None:
    text = f"""g (int64 n, bool go, string[k] words, string single) => (string[t] spoken) {{
      spoken = Loop <body = b (int64 i, bool c) => (bool c2, string word) {{
        c2 = Identity (c)
        {SCALARS[what]}
      }}> (n, go)
    }}"""
    words, single = np.array(["a", "bé", ""], object), np.array("a", object)
    output = run(text, n=3, go=True, words=words, single=single)["spoken"]
    assert output.dtype == object and output.shape == (3,)
    assert output.tolist() == (["a"] * 3 if "Identity" in what else ["a", "bé", ""])
