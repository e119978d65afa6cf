"""The catalog of all lessons, in order."""

from __future__ import annotations

from collections.abc import Sequence

from ..lesson import Course, ExerciseSet, Lesson
from . import (
    absent_condition,
    back_edge,
    branches,
    captures,
    concatenated_outputs,
    condition_timing,
    final_exercises,
    initial_condition,
    inner_iteration_counts,
    mode_quiz,
    mode_tables,
    nested_loops,
    recurrent_layers,
    repeated_body,
    scan_directions,
    simultaneous_back_edges,
    sliced_inputs,
    tensor_iterator_parts,
    tensorrt_outputs,
    three_systems,
    two_limits,
)

LESSONS: Sequence[Lesson] = (
    repeated_body.LESSON,
    back_edge.LESSON,
    condition_timing.LESSON,
    initial_condition.LESSON,
    two_limits.LESSON,
    absent_condition.LESSON,
    simultaneous_back_edges.LESSON,
    captures.LESSON,
    sliced_inputs.LESSON,
    concatenated_outputs.LESSON,
    nested_loops.LESSON,
    three_systems.LESSON,
)
#: The exercise sets after the lessons, in order.
EXERCISE_SETS: Sequence[ExerciseSet] = (
    final_exercises.EXERCISES,
    mode_tables.ONNX_LESSON,
    mode_tables.OPENVINO_LESSON,
    mode_tables.TENSORRT_LESSON,
    tensor_iterator_parts.LESSON,
    scan_directions.LESSON,
    branches.LESSON,
    recurrent_layers.LESSON,
    tensorrt_outputs.LESSON,
    inner_iteration_counts.LESSON,
    mode_quiz.QUIZ,
)
#: All lessons and exercise sets by number.
LESSONS_BY_NUMBER: dict[int, Lesson | ExerciseSet] = {
    **{lesson.number: lesson for lesson in LESSONS},
    **{exercises.number: exercises for exercises in EXERCISE_SETS},
}
COURSE = Course("loops", "Loops in neural-network models", LESSONS_BY_NUMBER)
