"""Lesson 12: three dialects."""

from __future__ import annotations

from ....runtime.graph import System
from ...words.explain import explain
from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene
from . import at_once, condition

ONNX = condition.SCENE
INPUTS = {"start": 0, "step": 3, "limit": 20}
TENSORRT = Scene("counter_trt.py", INPUTS)
#: The same for runtimes that ask afterwards.
AHEAD = Scene("ahead.onnxtxt", INPUTS)


def _in_onnx(played: Played) -> list[int]:
    counts: list[int] = ONNX.given(limit=played["limit"]).played["counts"]
    return counts


def _with_last(played: Played) -> list[int]:
    return [*played["got"], played["last"]]


ASK = ValueQuestion(
    TENSORRT,
    lambda played: f"limit is {played['limit']}: what does B collect of the recurrence count itself (got)?",
    lambda played: played["got"],
    lambda played: (
        f"The recurrence begins with what went in; {played.iterations} trips collect as many, and the next one, "
        f"{played['last']}, is the last value. ONNX runs {len(_in_onnx(played))}: counts is {_in_onnx(played)}."
    ),
    (
        Wrong(
            _in_onnx,
            lambda played: (
                f"That is ONNX's counts: asked afterwards, so {_in_onnx(played)[-1]} counts. kWHILE is asked before."
            ),
        ),
        Wrong(
            lambda played: played["gave"],
            lambda played: (
                f"{played.iterations} is right. But these are what iterations yield; the recurrence itself begins with "
                "its initial value."
            ),
        ),
        Wrong(
            _with_last,
            lambda played: (
                f"That is one too many: {played.iterations} trips collect as many, and {played['last']} is the last "
                "value."
            ),
        ),
    ),
    "`scene B`, then `s`: got is what is collected of count itself.",
    ("What does count hold while iteration 0 runs?", "`scene B` may be run: `f`; got is count, gave is count_next."),
    choice=True,
)
DRAW = varied(ASK, lambda random: {"step": 3, "limit": random.choice([k for k in range(8, 32) if k != 20])})


def as_tensorrt() -> list[str]:
    """What carries the condition of A in TensorRT's words, as its explanation has it."""
    [explained] = explain(ONNX.load(), System.TENSORRT)
    rows = [row for section in explained.terms.sections for row in section.rows]
    return [f"{left}: {right}" for left, right in rows if "kWHILE" in left or "below_in" in left]


LESSON = Lesson(
    12,
    "Three dialects",
    6,
    "Read one loop in ONNX, OpenVINO and TensorRT, and see where moving it changes numbers.",
    ("recurrence", "kWHILE"),
    {"A": ONNX, "B": TENSORRT, "C": AHEAD},
    "ONNX and OpenVINO test the condition after an iteration, TensorRT's kWHILE before it. In TensorRT a recurrence "
    "carries: what went in, then what iterations yield. A is lesson 3's counter, B the same in TensorRT.",
    (
        Step("f", "finish", "in A: 7 iterations"),
        Step("scene B", "scene", "in TensorRT: find the line of the listing that ends the loop"),
        Step("f", "finish", "6: iteration 6 would yield 21, so it does not run"),
        Step("W", "why", "what was asked, and when"),
    ),
    lambda _: (
        "For 7 iterations in TensorRT as well, A's condition has to be carried:\n"
        + "\n".join(f"  {line}" for line in as_tensorrt())
        + "\nWithout that it is B: `6 iterations`, the last value `18`. C is B written for ONNX: its condition tests "
        "count_next + step."
    ),
    ASK,
    DRAW,
    "ONNX and OpenVINO test after an iteration for the next one, kWHILE before it; a recurrence starts with what "
    "went in. And a trip count of -1: A and C are ONNX, where no iteration runs with it; the same loop as an OpenVINO "
    "IR has no limit with it.",
    first=at_once.RECALL,
)
