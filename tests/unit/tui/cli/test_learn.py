"""``loopdbg learn`` without a screen."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Ran, loopdbg

FILE = "lessons.json"
Learn = Callable[..., Ran]


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Learn:
    """Opens a lesson, with what is done kept in a folder, and types lines into it."""

    def opened(folder: Path, *arguments: str, typed: str = "") -> Ran:
        monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(folder))
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return loopdbg(capsys, "learn", *arguments)

    return opened


def test_a_lesson_as_text_with_answers_from_a_pipe(learn: Learn, tmp_path: Path) -> None:
    ran = learn(tmp_path, "3", typed="answer 18\n\nstep 6\nn\nn\nwhy\n\n\nanswer 18\nanswer 21\n\nquit\n")
    assert (ran.status, ran.err) == (0, "")
    told = ran.out
    for text in (
        "for i in range(max_trips) while below:",
        "Lesson 3 of 12: The condition speaks of the next iteration (5 min)   card 1 of 5: Say first",
        "Kept: 18.",
        "✓ s        six times: count goes 15 → 18",
        "✓ why      why the loop ended",
        "✗ Iteration 6 has run when it yields false: its 21 is collected",
        "✓ Right. Iteration 6 runs",
        "card 5 of 5: Remember",
    ):
        assert text in told, text
    listed = learn(tmp_path, "--list").out.splitlines()
    assert listed[2].startswith("✓  3") and listed[3].startswith("   4") and len(listed) == 13


def test_what_is_done_can_be_forgotten(learn: Learn, tmp_path: Path) -> None:
    learn(tmp_path, "1", typed="card 4\nstep 3\n")
    assert learn(tmp_path, "--list").out.startswith("✓  1")
    assert learn(tmp_path, "--reset").out == "what was done is forgotten\n"
    assert learn(tmp_path, "--list").out.startswith("   1")


def test_the_first_lesson_that_is_not_done_is_opened(learn: Learn, tmp_path: Path) -> None:
    assert "Lesson 1 of 12" in learn(tmp_path).out
    learn(tmp_path, "1", typed="card 4\nstep 3\n")
    assert "Lesson 2 of 12" in learn(tmp_path, "--text").out


@pytest.mark.parametrize("number", ["0", "14", "two", "-1"])
def test_a_lesson_that_there_is_not(learn: Learn, tmp_path: Path, number: str) -> None:
    ran = learn(tmp_path, number)
    assert ran.status == 2
    assert "1 to 13" in ran.complaint or "unknown option" in ran.complaint


def test_an_endless_scene_hangs_nobody_up(learn: Learn, tmp_path: Path) -> None:
    ran = learn(tmp_path, "6", typed="scene C\nfinish\nstep 6\nwhy\n")
    assert ran.status == 0 and "error: " in ran.out and "never ends" in ran.out


def test_an_unwritable_home_is_told_of_and_no_more(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = learn(tmp_path / "file", "1", typed="card 4\nstep 3\n")
    assert ran.status == 0 and "✓ Right" in ran.out
    damaged = tmp_path / "there"
    damaged.mkdir()
    (damaged / FILE).write_text("{")
    ran = learn(damaged, "1", typed="")
    assert ran.status == 0 and "damaged" in ran.err
