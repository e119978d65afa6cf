"""A random model and the result of another tool on it: diff reports no static and no dynamic difference.

``python tests/fuzz/campaign.py equals 2000`` tries many more; ``--only 'opset 17'`` shows one.
"""

from __future__ import annotations

import pytest

import equivalent_models

#: Tool -> number of pairs; OpenVINO's converter is slow.
CASES = {"opset": 60, "openvino": 20, "optimised": 60, "halves": 60}
NEEDED = {"openvino": "openvino", "optimised": "onnxruntime"}


@pytest.mark.parametrize("way", CASES)
def test_equivalent_models_have_no_difference(way: str) -> None:
    if way in NEEDED:
        pytest.importorskip(NEEDED[way])
    messages = {f"{way} {number}": equivalent_models.judge_case(f"{way} {number}") for number in range(CASES[way])}
    wrong = {name: text for name, text in messages.items() if text not in ("equal", "unseen")}
    assert not wrong, wrong
    assert list(messages.values()).count("equal") > len(messages) * 0.9


def test_simplified_models_have_no_difference() -> None:
    pytest.importorskip("onnxsim")
    messages = {f"simplified {number}": equivalent_models.judge_case(f"simplified {number}") for number in range(20)}
    assert set(messages.values()) <= {"equal", "unseen"}, messages
