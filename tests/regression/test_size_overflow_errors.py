"""What asks for more than numbers can count says so in our words, not in NumPy's."""

from __future__ import annotations

import re

import numpy as np
import pytest

from loopdbg.runtime.errors import ExecutionError
from text_models import model

#: The message, ours or NumPy's.
BEYOND = "too large for this machine|does not give|are available|[Uu]nable to allocate"


@pytest.mark.parametrize("size", [2**61, 2**62])
@pytest.mark.parametrize(
    "node",
    ["Expand (x, s)", "Tile (x, s)", "ConstantOfShape (s)", "Reshape (x, s)", "Pad (x, p)"],
    ids=lambda n: n.split()[0],
)
def test_too_large(node: str, size: int) -> None:
    m = model(f"g (float[1,1] x, int64[2] s, int64[4] p) => (float[a,b] y) {{ y = {node} }}")
    inputs = {"x": np.ones((1, 1), np.float32), "s": np.array([size, 2]), "p": np.array([size, 0, 0, 0])}
    with pytest.raises(ExecutionError) as caught:
        m.run(inputs)
    message = str(caught.value)
    assert message.startswith(node.split()[0]) and message.isprintable()
    assert re.search(f"{BEYOND}|Reshape", message)
    assert not any(words in message for words in ("iterator", "arr.", "Maximum", "C long"))


@pytest.mark.parametrize("size", [2**62, 2**63 - 600, 2**63 - 100, 2**63 - 1])
@pytest.mark.parametrize(
    "nodes",
    [
        "z = Constant <value = int64 {0}> () o = Constant <value = int64 {1}> () y = Range (z, n, o)",
        "v = Constant <value = float[2] {0., 1.}> () y = OneHot (i, n, v)",
        'm = Reshape (n, i) y = Resize <mode = "nearest"> (x, , , m)',
        'm = Reshape (n, i) y = Resize <mode = "linear"> (x, , , m)',
        "y = HannWindow (n)",
    ],
    ids=["Range", "OneHot", "Resize", "linear", "HannWindow"],
)
def test_places_that_cannot_be_counted(nodes: str, size: int) -> None:
    m = model(f"g (float[2] x, int64[1] i, int64 n) => (y) {{ {nodes} }}")
    with pytest.raises(ExecutionError, match=BEYOND):
        m.run({"x": np.ones(2, np.float32), "i": np.array([1]), "n": np.array(size)})
