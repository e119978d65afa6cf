"""All lessons in order."""

from __future__ import annotations

from collections.abc import Sequence

from ..lesson import Course, Lesson, Tasks
from . import (
    absent,
    after,
    again,
    at_once,
    branches,
    captures,
    condition,
    cutting,
    dialects,
    edge,
    first_look,
    joining,
    layers,
    limits,
    modes,
    nested,
    outputs,
    parts,
    quiz,
    scans,
    towers,
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
#: What comes after the lessons of the hour, in order.
PRACTICE: Sequence[Tasks] = (
    after.TASKS,
    modes.ONNX,
    modes.OPENVINO,
    modes.TENSORRT,
    parts.LESSON,
    scans.LESSON,
    branches.LESSON,
    layers.LESSON,
    outputs.LESSON,
    towers.LESSON,
    quiz.QUIZ,
)
#: What can be opened by its number.
ALL: dict[int, Lesson | Tasks] = {**{one.number: one for one in LESSONS}, **{one.number: one for one in PRACTICE}}
COURSE = Course("loops", "Loops in neural-network models", ALL)
