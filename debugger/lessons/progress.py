"""The saved progress of a learner, by lesson."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import write_text
from ...runtime.safe_file_reading import read_text


@dataclass
class LessonProgress:
    """The progress in a lesson: the card reached, whether its question was answered, the tries, the first guess, and
    the cards answered correctly or, in a quiz, missed."""

    card: int = 0
    done: bool = False
    tries: int = 0
    guess: str = ""
    answered: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)


class LearnerProgress:
    """The progress of all lessons; ``path``: the file, None for memory only. After a failed read it is empty, after a
    failed write it stays in memory; ``storage_error`` holds the reason."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.storage_error = ""
        self._lessons = self._load()

    def __getitem__(self, number: int) -> LessonProgress:
        return self._lessons.setdefault(number, LessonProgress())

    @property
    def done_lessons(self) -> frozenset[int]:
        """The lessons that are done."""
        return frozenset(number for number, lesson in self._lessons.items() if lesson.done)

    def reset(self) -> None:
        """Reset all progress."""
        self._lessons.clear()
        self.save()

    def save(self) -> None:
        """Write the file."""
        if self.path is None:
            return
        data = {"version": 1, "lessons": {str(number): asdict(lesson) for number, lesson in self._lessons.items()}}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.path, json.dumps(data, indent=1))
        except OSError as error:
            self.storage_error = f"what is done is not kept: {self.path}: {error.strerror}"

    def _load(self) -> dict[int, LessonProgress]:
        if self.path is None:
            return {}
        try:
            lessons = json.loads(read_text(self.path))["lessons"]
            return {int(number): _parse_lesson_progress(data) for number, data in lessons.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.storage_error = f"what was done cannot be read: {self.path}: {error.strerror}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.storage_error = f"what was done cannot be read: {self.path} is damaged; it starts again"
        return {}


def _parse_lesson_progress(data: Any) -> LessonProgress:
    """Parse a lesson of the file.

    Raises:
        TypeError, ValueError, KeyError: the entry is invalid.
    """
    answered, missed = ([int(card) for card in data.get(name, ())] for name in ("answered", "missed"))
    return LessonProgress(
        int(data["card"]), bool(data["done"]), int(data["tries"]), str(data["guess"]), answered, missed
    )
