"""``.ci/vocabulary.py`` finds the words that the code must not use."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import source_checks

_spec = importlib.util.spec_from_file_location("vocabulary", source_checks.ROOT / ".ci" / "vocabulary.py")
assert _spec is not None and _spec.loader is not None
vocabulary = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(vocabulary)

#: Split, so that this file passes its own check.
NAME, PART, PROSE, LAST = "fo" + "und", "to" + "ld", "be" + "side", "an" + "ew"


def words(path: Path, text: str) -> list[str]:
    path.write_text(text, "utf-8")
    return [word for _, word, _ in vocabulary.faults(path)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"{NAME} = 1\n", NAME),
        (f"def f({NAME}): ...\n", NAME),
        (f"for {NAME} in (): ...\n", NAME),
        (f"x.{NAME} = 1\n", NAME),
        (f"def {PART}_lines(): ...\n", f"{PART}_lines"),
        (f"class {PART.title()}Node: ...\n", f"{PART.title()}Node"),
        ("def lo" + "ok(): ...\n", "lo" + "ok"),
        (f"x = 1  # {PROSE} it\n", PROSE),
        (f'"""It is {PART}."""\n', PART),
        (f"x = f'written {LAST} {{1}}'\n", LAST),
    ],
)
def test_python_word_is_reported(tmp_path: Path, text: str, word: str) -> None:
    assert words(tmp_path / "a.py", text) == [word]


@pytest.mark.parametrize(
    "text",
    ["place = whole = 1\n", "x = re.search(a, b)\n", "found_it = 1  # what it found\n", "x.look()\n", "toldable = 1\n"],
)
def test_other_python_is_accepted(tmp_path: Path, text: str) -> None:
    assert words(tmp_path / "a.py", text) == []


def test_cython_and_c_are_read_by_line(tmp_path: Path) -> None:
    assert words(tmp_path / "a.pyx", f"cdef int {NAME} = 1  # {PROSE} it\n") == [PROSE, NAME]
    assert words(tmp_path / "a.h", f"int {PART}_count; /* {LAST} */\n") == [LAST, f"{PART}_count"]
    assert words(tmp_path / "a.pyx", "cdef int founded = 1\n") == []


def test_pages_are_read_as_prose(tmp_path: Path) -> None:
    assert words(tmp_path / "a.md", f"It is {PART}; {NAME} is fine.\n") == [PART]
