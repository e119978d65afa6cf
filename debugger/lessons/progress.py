"""What a learner has done, kept for each user, card by card."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import write_text
from ...runtime.stable_file import read_text


@dataclass
class LessonProgress:
    """Of one lesson: the card that was reached, whether its question was answered, how many tries that took, the first
    guess, the cards that were answered right, and those of a quiz that were not."""

    card: int = 0
    done: bool = False
    tries: int = 0
    guess: str = ""
    answered: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)


class LearnerProgress:
    """All lessons; ``path``: where it is kept, None: nowhere. What cannot be read counts as nothing done, and what
    cannot be written is kept as long as the program runs: ``trouble`` then says why."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.storage_error = ""
        self._lessons = self._read()

    def __getitem__(self, number: int) -> LessonProgress:
        return self._lessons.setdefault(number, LessonProgress())

    @property
    def done_lessons(self) -> frozenset[int]:
        """The lessons that are done."""
        return frozenset(number for number, one in self._lessons.items() if one.done)

    def reset(self) -> None:
        """Begin anew."""
        self._lessons.clear()
        self.save()

    def save(self) -> None:
        """Keep what was done."""
        if self.path is None:
            return
        told = {"version": 1, "lessons": {str(number): asdict(one) for number, one in self._lessons.items()}}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.path, json.dumps(told, indent=1))
        except OSError as error:
            self.storage_error = f"what is done is not kept: {self.path}: {error.strerror}"

    def _read(self) -> dict[int, LessonProgress]:
        if self.path is None:
            return {}
        try:
            lessons = json.loads(read_text(self.path))["lessons"]
            return {int(number): _parse_lesson_progress(one) for number, one in lessons.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.storage_error = f"what was done cannot be read: {self.path}: {error.strerror}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.storage_error = f"what was done cannot be read: {self.path} is damaged; it begins anew"
        return {}


def _parse_lesson_progress(told: Any) -> LessonProgress:
    """One lesson of the file.

    Raises:
        TypeError, ValueError, KeyError: it is none.
    """
    answered, missed = ([int(card) for card in told.get(name, ())] for name in ("answered", "missed"))
    return LessonProgress(
        int(told["card"]), bool(told["done"]), int(told["tries"]), str(told["guess"]), answered, missed
    )
