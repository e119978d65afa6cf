"""Lessons 14 to 16: classify loops by the tables of ONNX, OpenVINO and TensorRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....runtime.graph import System
from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..loop_modes import SYSTEM_NAMES, TABLE_TITLES, modes_of_system
from ..mode_question import mode_question_generator
from ..question import RunText
from ..scene import Scene

#: With these inputs a while loop runs no iteration, a do-while loop one.
_FALSE_AT_START_INPUTS = {"n": 6, "x0": 12, "limit": 9}


def _table_text(system: System, intro: str) -> str:
    """The text of a table, one line per row."""
    rows = "\n".join(f"  {row.text}: {row.ending_text}." for row in modes_of_system(system))
    return f"{intro}\n{rows}"


def _mode_lesson(
    number: int, system: System, scenes: Mapping[str, Scene], intro: str, look_text: RunText, remember: str
) -> ExerciseSet:
    """The table, a comparison of the two rows that are easily confused, and five loops to classify."""
    first = next(iter(scenes.values()))
    cards: Sequence[Card] = (
        Card(CardKind.READ, _table_text(system, intro), first),
        Card(
            CardKind.DO,
            "While or do-while: both are given x0 = 12, which is not below the limit of 9.",
            first,
            steps=_STEPS,
        ),
        Card(CardKind.LOOK, look_text, first),
        *(Card(CardKind.ASK, "", first, generate_question=mode_question_generator(system)) for _ in range(5)),
        Card(CardKind.LAST, remember, first),
    )
    return ExerciseSet(
        number,
        f"Which mode is this? {SYSTEM_NAMES[system]}",
        6,
        cards,
        f"Name the row of a loop in {TABLE_TITLES[system]}.",
        scenes,
    )


_STEPS = (
    LessonStep("f", "finish", "in A: how many iterations?"),
    LessonStep("scene B", "scene", "the same body in another row"),
    LessonStep("f", "finish", "and here?"),
    LessonStep("W", "why", "who decided about iteration 0"),
)


def _scenes(pattern: str) -> dict[str, Scene]:
    return {letter: Scene(pattern.format(number), _FALSE_AT_START_INPUTS) for letter, number in (("A", 1), ("B", 5))}


ONNX_LESSON = _mode_lesson(
    14,
    System.ONNX,
    _scenes("onnx_adds_{}.onnxtxt"),
    "ONNX's page has five rows, by the loop's inputs M, the trip count, and cond, the condition before iteration 0. An "
    'input that is absent is written "".',
    "A is a while loop: its cond is x0 < limit, which is false, so it made `0 iterations`. B is a do-while loop: its "
    "cond is the constant true, so it made `1 iteration`.",
    "Two inputs, three forms of cond: absent, the constant true, or computed. With cond absent the body's condition is "
    "ignored.",
)
OPENVINO_LESSON = _mode_lesson(
    15,
    System.OPENVINO,
    _scenes("ir_adds_{}.xml"),
    "OpenVINO's page has five rows, by the inputs trip_count, where -1 means no limit, and execution_condition, which "
    "decides about iteration 0. Neither is ever absent, so that the body's condition tells some rows apart.",
    "A is a while loop: its execution_condition is x0 < limit, which is false, so it made `0 iterations`. B is a "
    "do-while loop: its execution_condition is the constant true, so it made `1 iteration`.",
    "-1 is what is absent in ONNX; a loop that is to ignore its condition has a body that yields the constant true.",
)
TENSORRT_LESSON = _mode_lesson(
    16,
    System.TENSORRT,
    _scenes("trt_adds_{}.py"),
    "TensorRT has trip limits: kCOUNT, kWHILE, or one of each; without any the network is refused. kWHILE is asked "
    "before each iteration, iteration 0 too; a do-while loop carries its condition by a recurrence that begins with "
    "true.",
    "A is a while loop: kWHILE is x < limit itself, which is false at first, so it made `0 iterations`. B is a "
    "do-while loop: kWHILE is a recurrence that begins with true, so it made `1 iteration`.",
    "kWHILE alone is a while loop; of a recurrence that begins with true it is a do-while loop.",
)
