"""All lessons in order."""

from __future__ import annotations

from collections.abc import Sequence

from ..lesson import Lesson, Tasks
from . import (
    absent,
    after,
    again,
    at_once,
    captures,
    condition,
    cutting,
    dialects,
    edge,
    first_look,
    joining,
    limits,
    nested,
)

LESSONS: Sequence[Lesson] = (
    again.LESSON,
    edge.LESSON,
    condition.LESSON,
    first_look.LESSON,
    limits.LESSON,
    absent.LESSON,
    at_once.LESSON,
    captures.LESSON,
    cutting.LESSON,
    joining.LESSON,
    nested.LESSON,
    dialects.LESSON,
)
#: What can be opened by its number.
ALL: dict[int, Lesson | Tasks] = {**{one.number: one for one in LESSONS}, after.TASKS.number: after.TASKS}
