"""All answers, right and wrong, and of every question asked again, as the engine and as real runtimes have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import in_onnxruntime
import in_openvino
import loopdbg
from learning import Class
from loopdbg.debugger.lessons.course import absent, at_once, captures, condition, dialects, limits
from loopdbg.debugger.lessons.course.table import ALL, LESSONS
from loopdbg.debugger.lessons.lesson import Kind, Lesson
from loopdbg.debugger.lessons.question import Question, StateQuestion, ValueQuestion, show
from loopdbg.debugger.lessons.scene import Scene


def questions() -> Iterator[tuple[str, Question]]:
    for lesson in ALL.values():
        for card in lesson.cards:
            for k, question in enumerate((card.question, *card.again)):
                if question is not None:
                    yield f"{lesson.number} {card.kind} {k}", question


VALUES = [(name, q) for name, q in questions() if isinstance(q, ValueQuestion)]
SCENES = {id(q.scene): (name, q.scene) for name, q in questions()} | {
    id(scene): (f"{lesson.number} {letter}", scene) for lesson in LESSONS for letter, scene in lesson.scenes.items()
}


def peer_outputs(scene: Scene) -> dict[str, Any]:
    """What the scene's own runtime gives."""
    given = scene.arrays(scene.load())
    if scene.model.endswith(".xml"):
        return in_openvino.named(scene.path, given)
    import onnx.parser

    if scene.path.suffix == ".py":
        # TensorRT's own runtime is none that a test has: the same in ONNX's clothes.
        scene = dialects.AHEAD.given(**scene.inputs)
        given = scene.arrays(scene.load())
    if scene.path.suffix == ".onnxtxt":
        return in_onnxruntime.run(onnx.parser.parse_model(scene.path.read_text(encoding="utf-8")), given)
    return in_onnxruntime.run(scene.path, given)


#: Where lesson 6 says that a runtime does otherwise; and one that never ends, at all.
OTHERWISE = {absent.B.model, absent.C.model}


ALIKE = [(name, scene) for name, scene in SCENES.values() if scene.model not in OTHERWISE]


@pytest.mark.parametrize(("name", "scene"), ALIKE, ids=[name for name, _ in ALIKE])
def test_scenes_give_what_their_own_runtime_gives(name: str, scene: Scene) -> None:
    ours = scene.played.run.outputs
    for output, value in peer_outputs(scene).items():
        np.testing.assert_allclose(ours[output], value, rtol=1e-6)
        assert ours[output].shape == value.shape


def test_where_a_lesson_says_that_a_runtime_differs_it_does() -> None:
    rows = peer_outputs(absent.B)["rows"]
    assert rows.tolist() == [1, 2, 3] and absent.ASK.answer == 6
    assert absent.ASK.judge(str(len(rows))).text.startswith("So it would be with true")


@pytest.mark.parametrize(("name", "question"), VALUES, ids=[name for name, _ in VALUES])
def test_the_right_answer_is_right_and_says_why(name: str, question: ValueQuestion) -> None:
    typed = [str(question.answer), *(letter for letter, value in question.choices.items() if value == question.answer)]
    if isinstance(question.answer, list):
        typed += [" ".join(map(str, question.answer)), f"({', '.join(map(str, question.answer))})"]
    for text in typed:
        reply = question.judge(text)
        assert reply.right and len(reply.text) > 10, text


@pytest.mark.parametrize(("name", "question"), VALUES, ids=[name for name, _ in VALUES])
def test_every_wrong_rule_has_its_own_reply(name: str, question: ValueQuestion) -> None:
    replies = set()
    for value, _ in question.rules:
        reply = question.judge(show(value))
        assert not reply.right and reply.text
        replies.add(reply.text)
    assert len(replies) == len(question.rules)
    other = question.judge("-987654")
    assert not other.right and other.text.startswith("Not -987654. ") and len(other.text) > 30
    if question.choice:
        assert 3 <= len(question.choices) <= 4


#: Wrong answers as the curriculum has them: lesson, what is typed, a piece of the reply.
TYPED = [
    (2, "[2, 4, 8, 16]", "That is gave"),
    (2, "1 2 4 8 16", "it leaves as x_last"),
    (2, "1,1,1,1", "Inside one iteration x stays"),
    (3, "18", "Iteration 6 has run when it yields false: its 21"),
    (3, "20", "limit is only compared with"),
    (3, "7", "That is how many"),
    (3, "30", "10 trips would be the most"),
    (4, "0", "So ends A"),
    (4, "2", "That is after one iteration"),
    (4, "nan", "A carried value always has one"),
    (4, "Nothing", "A carried value always has one"),
    (6, "3", "The written table says otherwise"),
    (6, "0", "Absent is not false"),
    (6, "endless", "That is C"),
    (7, "(2, 2)", "one after another"),
    (7, "(1, 1)", "the other order"),
    (7, "1 2", "Right after 2 trades; there are 3"),
    (9, "12", "That is forwards"),
    (9, "34", "each is put behind: 4, then 4·10 + 3"),
    (9, "4", "After one part"),
    (9, "432", "Three parts"),
    (10, "[30, 3, 20, 2, 10, 1]", "inside a part nothing moves"),
    (10, "[1, 10, 2, 20, 3, 30]", "That is joined"),
    (10, "[[3, 30], [2, 20], [1, 10]]", "it adds none"),
    (12, "[3, 6, 9, 12, 15, 18, 21]", "That is ONNX's counts: asked afterwards, so 21"),
    (12, "[3, 6, 9, 12, 15, 18]", "6 is right"),
    (12, "[0, 3, 6, 9, 12, 15, 18]", "18 is the last value"),
]


@pytest.mark.parametrize(("number", "typed", "says"), TYPED)
def test_wrong_answers_are_met_where_they_come_from(number: int, typed: str, says: str) -> None:
    klass = Class(number)
    klass.to("Ask")
    said = klass(f"answer {typed}")
    assert said.startswith("✗") and says in said


#: Questions asked again: their numbers, and what is right.
AGAIN = [
    (2, [[5, 10, 20]]),
    (3, [21, 24]),
    (4, [7]),
    (6, [4]),
    (7, [[3, 1, 2]]),
    (9, [70]),
    (10, [[9, 90, 8, 80, 7, 70]]),
    (12, [[0, 3, 6, 9]]),
]


@pytest.mark.parametrize(("number", "answers"), AGAIN)
def test_again_asks_with_other_numbers(number: int, answers: list[Any]) -> None:
    klass = Class(number)
    klass.to("Ask")
    for answer in answers:
        klass("again")
        assert "✓ Right" in klass(f"answer {answer}")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: str(one.number))
def test_what_is_asked_again_comes_round(lesson: Lesson) -> None:
    klass = Class(lesson.number)
    klass.to("Ask")
    count = len(next(card.again for card in lesson.cards if card.kind is Kind.ASK))
    texts = []
    for _ in range(count + 1):
        assert not klass("again").startswith("error")
        texts.append(klass.learner.lines())
    assert count and texts[0] == texts[-1]


# -- states: what is typed, and what is said in the end


STATES = [
    (1, 0, ["step 3"], "✓ Right. Three have run"),
    (1, 0, ["step 2"], "Two so far, numbers 0 and 1"),
    (1, 0, ["step 4"], "Four: numbers 0, 1, 2, 3"),
    (1, 0, ["finish"], "All 5 have run"),
    (1, 0, ["step", "back"], "None yet"),
    (1, 1, ["step 4"], "✓ Right. x is 12"),
    (1, 1, ["step 3"], "x is 9 here"),
    (5, 0, ["set limit = 13", "finish"], "✓ Right. Ended by the condition: 15 < 13"),
    (5, 0, ["set limit = 15", "finish"], "✓ Right"),
    (5, 0, ["set step = 4", "finish"], "✓ Right"),
    (5, 0, ["set count = 5", "finish"], "✓ Right"),
    (5, 0, ["set count = 7", "finish"], "✓ Right"),
    (5, 0, ["set trip_count = 5", "finish"], "✓ Right. Ended by the trip count: below was true (15 < 20)"),
    (5, 0, ["set limit = 12", "finish"], "4: 12 < 12 is false already in iteration 3"),
    (5, 0, ["set step = 5", "finish"], "4: 20 < 20 is false already in iteration 3"),
    (5, 0, ["set limit = 16", "finish"], "6: in iteration 4 the comparison still says go on"),
    (5, 0, ["set limit = 21", "finish"], "7, as before"),
    (5, 0, ["set limit = 99", "finish"], "the trip count of 10 is next"),
    (5, 0, ["set limit = 99", "set trip_count = 5", "finish"], "5 it is, by 2 changes"),
    (5, 0, ["finish"], ""),
    (5, 1, ["set limit = 25", "finish"], "✓ Right"),
    (5, 1, ["set limit = 27", "finish"], "✓ Right"),
    (5, 1, ["set trip_count = 9", "finish"], "7, as before"),
    (5, 1, ["set limit = 28", "finish"], "10: you moved the condition away"),
    (8, 0, ["step 2", "set start = 10", "finish"], "✓ Right. Iteration 2 received 3"),
    (8, 0, ["step 2", "set start = 13", "finish"], "x_last is 16: iteration 2 adds start to what it received, 3 + 13"),
    (8, 0, ["step", "set start = 10", "finish"], "x_last is 22: every iteration from 1 on adds 10"),
    (8, 0, ["set start = 10", "finish"], "x_last is 31: every iteration from 0 on adds 10"),
    (8, 0, ["step 2", "set x = 12", "finish"], "x_last is right, but you changed x"),
    (8, 0, ["step 2", "set start = 9", "set start = 10", "finish"], "x_last is 13, by 2 changes"),
    (8, 1, ["step 2", "set start = 14", "finish"], "✓ Right"),
    (11, 0, ["break iter 2,1", "continue"], "✓ Right. Iteration 1 of stair, in iteration 2 of stairs"),
    (11, 0, ["break iter 1,1", "continue"], "Outer iteration 1: total is 1"),
    (11, 0, ["break iter 2,0", "continue"], "Each entry begins at 0"),
    (11, 0, ["break iter 2,2", "continue"], "h is 2: one too far"),
    (11, 0, ["into", "into", "step"], "has no more iteration; on to the next"),
    (11, 1, ["break iter 3,2", "continue"], "✓ Right. Iteration 2 of stair, in iteration 3 of stairs"),
]


@pytest.mark.parametrize(("number", "again", "lines", "says"), STATES)
def test_states_are_seen_when_they_are_reached(number: int, again: int, lines: list[str], says: str) -> None:
    klass = Class(number)
    klass.to("Ask")
    for _ in range(again):
        klass("again")
    said = klass(*lines)
    assert "error" not in said
    if says:
        assert says in said.replace("  ", " "), said
        assert klass.learner.answered == says.startswith("✓")
    else:
        assert not klass.learner.answered


def counted(scene: Scene, **inputs: Any) -> int:
    """How many rows a scan output of ONNX Runtime has."""
    return len(peer_outputs(scene.given(**inputs))["counts"])


def test_what_lesson_5_counts_as_reached_is_so_in_onnxruntime() -> None:
    five = [{"limit": 13}, {"limit": 15}, {"step": 4}, {"start": 5}, {"start": 7}, {"max_trips": 5}]
    assert [counted(limits.SCENE, **one) for one in five] == [5] * len(five)
    assert [counted(limits.SCENE, limit=limit) for limit in (12, 16, 24, 25, 27, 28)] == [4, 6, 8, 9, 9, 10]
    assert counted(limits.SCENE, max_trips=9) == 7


def test_lesson_8_as_plain_arithmetic() -> None:
    """Nothing but this debugger changes a capture between two iterations."""
    scene = captures.SCENE
    assert scene.played["x_last"] == 1 + 3 * 1 and scene.played.received("grow", "x", 2) + 10 == 13


def test_openvino_trades_one_after_another_where_lesson_7_says_so(tmp_path: Any) -> None:
    from loopdbg.tui.cli import main

    scene = at_once.SCENE
    note = next(one for one in LESSONS if one.number == 7).note
    assert note is not None and "(2, 2)" in note(scene, lambda scene, peer: "")
    # 6: there is a difference.
    assert main(["diff", str(scene.path), "--against", "openvino"]) == 6


def test_notes_wait_until_the_question_is_answered() -> None:
    for number, telling in ((6, "ONNX Runtime"), (7, "OpenVINO")):
        klass = Class(number)
        klass.to("Ask")
        before = klass("answer 77 77")
        assert telling not in before.replace("ONNX Runtime and OpenVINO take", "")
        right = next(q for name, q in VALUES if name == f"{number} Ask 0")
        assert telling in klass(f"answer {right.answer}")


def test_inputs_of_a_scene_come_from_beside_the_model_where_it_names_none() -> None:
    scene = Scene("counter.onnx")
    assert scene.played.iterations == condition.SCENE.played.iterations == 7


def test_a_model_that_is_not_installed_is_one_clear_error() -> None:
    with pytest.raises(loopdbg.ModelError, match="lessons' models are not installed"):
        Scene("nowhere.onnx").load()


def test_state_questions_are_all_reached_by_their_last_hint() -> None:
    for name, question in questions():
        if isinstance(question, StateQuestion) and not name.startswith("13"):
            assert question.hint(9) == question.hint(2)
