"""Lesson 12: three dialects."""

from __future__ import annotations

from ....runtime.graph import System
from ...describe.explain import explain
from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun
from . import condition_timing, simultaneous_back_edges

ONNX_SCENE = condition_timing.SCENE
SCENE_INPUTS = {"start": 0, "step": 3, "limit": 20}
TENSORRT_SCENE = Scene("counter_trt.py", SCENE_INPUTS)
#: The same loop for systems that test the condition after an iteration.
LATE_CONDITION_SCENE = Scene("ahead.onnxtxt", SCENE_INPUTS)


def _onnx_counts(run: SceneRun) -> list[int]:
    counts: list[int] = ONNX_SCENE.with_inputs(limit=run["limit"]).reference_run["counts"]
    return counts


def _counts_with_last_value(run: SceneRun) -> list[int]:
    return [*run["got"], run["last"]]


QUESTION = ValueQuestion(
    TENSORRT_SCENE,
    lambda run: f"limit is {run['limit']}: what does B collect of the recurrence count itself (got)?",
    lambda run: run["got"],
    lambda run: (
        f"The recurrence begins with what went in; {run.iterations} trips collect as many, and the next one, "
        f"{run['last']}, is the last value. ONNX runs {len(_onnx_counts(run))}: counts is {_onnx_counts(run)}."
    ),
    (
        WrongRule(
            _onnx_counts,
            lambda run: (
                f"That is ONNX's counts: asked afterwards, so {_onnx_counts(run)[-1]} counts. kWHILE is asked before."
            ),
        ),
        WrongRule(
            lambda run: run["gave"],
            lambda run: (
                f"{run.iterations} is right. But these are what iterations yield; the recurrence itself begins with "
                "its initial value."
            ),
        ),
        WrongRule(
            _counts_with_last_value,
            lambda run: (
                f"That is one too many: {run.iterations} trips collect as many, and {run['last']} is the last value."
            ),
        ),
    ),
    "`scene B`, then `s`: got is what is collected of count itself.",
    ("What does count hold while iteration 0 runs?", "`scene B` may be run: `f`; got is count, gave is count_next."),
    multiple_choice=True,
)
generate_question = vary_inputs(
    QUESTION, lambda random: {"step": 3, "limit": random.choice([k for k in range(8, 32) if k != 20])}
)


def tensorrt_condition_lines() -> list[str]:
    """The lines of A's TensorRT explanation that carry the condition."""
    [explanation] = explain(ONNX_SCENE.load(), System.TENSORRT)
    rows = [row for section in explanation.terms.sections for row in section.rows]
    return [f"{left}: {right}" for left, right in rows if "kWHILE" in left or "below_in" in left]


LESSON = Lesson(
    12,
    "Three dialects",
    6,
    "Read one loop in ONNX, OpenVINO and TensorRT, and see where moving it changes numbers.",
    ("recurrence", "kWHILE"),
    {"A": ONNX_SCENE, "B": TENSORRT_SCENE, "C": LATE_CONDITION_SCENE},
    "ONNX and OpenVINO test the condition after an iteration, TensorRT's kWHILE before it. In TensorRT a recurrence "
    "carries: what went in, then what iterations yield. A is lesson 3's counter, B the same in TensorRT.",
    (
        LessonStep("f", "finish", "in A: 7 iterations"),
        LessonStep("scene B", "scene", "in TensorRT: find the line of the listing that ends the loop"),
        LessonStep("f", "finish", "6: iteration 6 would yield 21, so it does not run"),
        LessonStep("W", "why", "what was asked, and when"),
    ),
    lambda _: (
        "For 7 iterations in TensorRT as well, A's condition has to be carried:\n"
        + "\n".join(f"  {line}" for line in tensorrt_condition_lines())
        + "\nWithout that it is B: `6 iterations`, the last value `18`. C is B written for ONNX: its condition tests "
        "count_next + step."
    ),
    QUESTION,
    generate_question,
    "ONNX and OpenVINO test after an iteration for the next one, kWHILE before it; a recurrence starts with what "
    "went in. And a trip count of -1: A and C are ONNX, where no iteration runs with it; the same loop as an OpenVINO "
    "IR has no limit with it.",
    generate_recall=simultaneous_back_edges.generate_recall,
)
