"""Detection of repeated token sequences."""

from __future__ import annotations

import pytest

from loopdbg.debugger.reference.repeat_detection import find_repeats


def repeat_texts(text: str) -> list[list[str]]:
    return [["".join(text[place] for place in places) for places in rounds] for rounds in find_repeats(text)]


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("", []),
        ("abcdef", []),
        ("abcabcabc", [["abc", "abc", "abc"]]),
        ("xyabcabczw", [["abc", "abc"]]),
        # A group that contains a token twice, and one that consists of two copies of another.
        ("abbcabbcabbc", [["abbc", "abbc", "abbc"]]),
        ("abababab", [["ab", "ab", "ab", "ab"]]),
        # The first and the last repetition are incomplete.
        ("abcabcdabcdabcdab", [["abc", "abcd", "abcd", "abcd", "ab"]]),
        ("bcdabcdabcdabcd", [["bcda", "bcda", "bcda", "bcd"]]),
        # One repetition has an extra token, one lacks a token.
        ("abcabcabcaxbcabc", [["abc", "abc", "abc", "abc", "abc"]]),
        ("abcdabcdabcdacdabcd", [["abcd", "abcd", "abcd", "acd", "abcd"]]),
        # Two consecutive loops.
        ("pabababqcdecdecder", [["ab", "ab", "ab"], ["cde", "cde", "cde"]]),
    ],
)
def test_repetition_is_detected(text, rounds):
    assert repeat_texts(text) == rounds


def test_positions_are_unique_and_ordered():
    places = [item for rounds in find_repeats("zabcxabcabcyabcabczz") for each in rounds for item in each]
    assert places == sorted(set(places))
