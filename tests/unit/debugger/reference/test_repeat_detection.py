"""Stretches in which the same tokens stand over and over."""

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
        # A group that has a token twice, and one that is two of another.
        ("abbcabbcabbc", [["abbc", "abbc", "abbc"]]),
        ("abababab", [["ab", "ab", "ab", "ab"]]),
        # The first and the last are not whole.
        ("abcabcdabcdabcdab", [["abc", "abcd", "abcd", "abcd", "ab"]]),
        ("bcdabcdabcdabcd", [["bcda", "bcda", "bcda", "bcd"]]),
        # One has something else in it, one lacks something.
        ("abcabcabcaxbcabc", [["abc", "abc", "abc", "abc", "abc"]]),
        ("abcdabcdabcdacdabcd", [["abcd", "abcd", "abcd", "acd", "abcd"]]),
        # Two loops, one behind the other.
        ("pabababqcdecdecder", [["ab", "ab", "ab"], ["cde", "cde", "cde"]]),
    ],
)
def test_repetition_is_detected(text, rounds):
    assert repeat_texts(text) == rounds


def test_positions_are_unique_and_ordered():
    places = [item for rounds in find_repeats("zabcxabcabcyabcabczz") for each in rounds for item in each]
    assert places == sorted(set(places))
