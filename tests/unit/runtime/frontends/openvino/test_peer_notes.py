"""Notes on slices of a size that no model tells (docs/peers.md); tests/conformance/test_peer_notes.py has the rest."""

from __future__ import annotations

import pytest

from ir_builder import SaveNet, only_loop, running_sum
from loopdbg.runtime.frontends.openvino.reader import read


@pytest.mark.parametrize(
    ("sliced", "noted"),
    [
        ('axis="0" start="1"', "from the front"),
        ('axis="0" start="-3"', None),
        ('axis="0" start="-2" end="0" stride="-1"', "from the back: it counts with start=-2"),
    ],
)
def test_note_on_slices(save: SaveNet, sliced: str, noted: str | None) -> None:
    notes = only_loop(read(save(running_sum(sliced, shape="?,2")))).notes
    assert len(notes) == (noted is not None)
    assert noted is None or noted in notes[0]
