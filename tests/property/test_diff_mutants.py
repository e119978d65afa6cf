"""One change in a random model: diff names the change, blames nothing else, and never reports the models as equal.

``python tests/fuzz/campaign.py mutants 3000`` tries many more; ``--only 'onnx edge 17'`` shows one.
"""

from __future__ import annotations

import pytest

import program_mutants

#: The number of mutants of each kind of change in each format.
CASES = 4
#: Kinds for the campaign alone: of two changes one without effect may be missing from the list, and where rows end that
#: a loop slices, the slice may be listed, too, as without effect.
CAMPAIGN_KINDS = ("two", "end")


@pytest.mark.parametrize(
    ("system", "kind"),
    [
        (system, kind)
        for system, of in program_mutants.MUTATION_KINDS.items()
        for kind in of
        if kind not in CAMPAIGN_KINDS
    ],
)
def test_single_change_is_named(system: str, kind: str) -> None:
    messages = {
        f"{system} {kind} {number}": program_mutants.judge_case(f"{system} {kind} {number}") for number in range(CASES)
    }
    wrong = {name: text for name, text in messages.items() if text not in ("exact", "unseen")}
    assert not wrong, wrong
    assert "exact" in messages.values(), "no change was seen in what the models give"
