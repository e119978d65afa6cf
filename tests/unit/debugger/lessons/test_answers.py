"""All answers, right and wrong, to every question and its repetitions, checked against the engine and real runtimes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import loopdbg
import onnxruntime_peer
import openvino_peer
from error_fields import raises_error
from lesson_driver import LESSONS, LessonDriver, solution_commands, value_question
from loopdbg.debugger.lessons.course import state_questions
from loopdbg.debugger.lessons.course.catalog import LESSONS_BY_NUMBER
from loopdbg.debugger.lessons.lesson import Card, CardKind, Lesson
from loopdbg.debugger.lessons.question import CHOICE_COUNT, Question, StateQuestion, ValueQuestion, format_answer
from loopdbg.debugger.lessons.scene import Scene
from loopdbg.runtime.graph import StoppedBy

#: Every card that judges an answer.
CARDS = [
    (f"{lesson.number}.{k + 1}", card) for lesson in LESSONS_BY_NUMBER.values() for k, card in enumerate(lesson.cards)
]
JUDGED = [(name, card) for name, card in CARDS if card.kind.graded and card.has_question]
DRAWS = 3


def drawn_questions(card: Card, count: int = DRAWS, seed: int = 0) -> Iterator[Question]:
    """The question of a card with the numbers of N seeds."""
    random = Random(seed)
    for _ in range(count):
        question = card.draw_question(random)
        assert question is not None
        yield question


def questions() -> Iterator[tuple[str, Question]]:
    """The questions of all cards as drawn, and those of guesses."""
    for name, card in CARDS:
        if card.kind is CardKind.QUIZ:
            continue
        if card.kind.graded and card.has_question:
            yield from ((f"{name} {k}", question) for k, question in enumerate(drawn_questions(card)))
        elif card.question is not None:
            yield name, card.question


VALUES = [(name, q) for name, q in questions() if isinstance(q, ValueQuestion)]


def scenes() -> Iterator[tuple[str, Scene]]:
    """All scenes that are opened, with their questions."""
    for lesson in LESSONS_BY_NUMBER.values():
        yield from ((f"{lesson.number} {letter}", scene) for letter, scene in lesson.scenes.items())
    yield from ((name, question.scene) for name, question in questions())


def peer_outputs(scene: Scene) -> dict[str, Any]:
    """The outputs of the scene's own runtime."""
    if scene.path.suffix == ".py":
        # Tests have no TensorRT runtime: the same loop as an ONNX model.
        scene = LESSONS_BY_NUMBER[12].scenes["C"].with_inputs(**scene.inputs)
    inputs = scene.input_arrays(scene.load())
    if scene.model.endswith(".xml"):
        return openvino_peer.run_by_name(scene.path, inputs)
    import onnx.parser

    if scene.path.suffix == ".onnxtxt":
        return onnxruntime_peer.run(onnx.parser.parse_model(scene.path.read_text(encoding="utf-8")), inputs)
    return onnxruntime_peer.run(scene.path, inputs)


#: Where a lesson states that a runtime differs, and modes that no peer implements as the table defines them.
OTHER_ANSWERS = {
    "climb_absent.onnxtxt",
    "climb_endless.onnxtxt",
    "cut_tail.xml",
    "cut_range.xml",
    "cut_from_end.xml",
    "cut_range_back.xml",
}
IGNORING = {"onnx_adds_2.onnxtxt", "onnx_doubles_2.onnxtxt"}


def _alike(scene: Scene) -> bool:
    """Whether a peer runs the scene with the same outputs."""
    of_tensorrt = scene.path.suffix == ".py" and scene.model != "counter_trt.py"
    ends = scene.reference_run.stopped_by is not StoppedBy.LIMIT
    return ends and not of_tensorrt and scene.model not in OTHER_ANSWERS | IGNORING


ALIKE = [(name, scene) for name, scene in scenes() if _alike(scene)]


@pytest.mark.parametrize(("name", "scene"), ALIKE, ids=[name for name, _ in ALIKE])
def test_scenes_agree_with_their_own_runtime(name: str, scene: Scene) -> None:
    ours = scene.reference_run.run.outputs
    for output, value in peer_outputs(scene).items():
        np.testing.assert_allclose(ours[output], value, rtol=1e-5, atol=1e-7)
        assert ours[output].shape == value.shape


def test_stated_runtime_differences_exist() -> None:
    question = value_question(6)
    rows = peer_outputs(question.scene)["rows"]
    assert rows.tolist() == [1, 2, 3] and question.answer == 6
    assert question.grade(str(len(rows))).text.startswith("So it would be with true")


def test_openvino_slices_differently_as_lesson_17_states() -> None:
    cut = Scene("cut_tail.xml", {"x": [1, 2, 3, 4, 5, 6]})
    note = LESSONS_BY_NUMBER[17].write_note
    assert note is not None and "reads from element 0" in note(cut, lambda scene, peer: "")
    assert (cut.reference_run["tens"], peer_outputs(cut)["tens"].tolist()) == ([30, 40, 50, 60], [10, 20, 30, 40])
    for refused in ("cut_range.xml", "cut_from_end.xml"):
        with pytest.raises(RuntimeError, match="different iterations numbers"):
            peer_outputs(Scene(refused, cut.inputs))


@pytest.mark.parametrize(("name", "question"), VALUES, ids=[name for name, _ in VALUES])
def test_right_answer_is_accepted_with_its_reason(name: str, question: ValueQuestion) -> None:
    typed = [str(question.answer), *(letter for letter, value in question.choices.items() if value == question.answer)]
    if isinstance(question.answer, list):
        typed += [" ".join(map(str, question.answer)), f"({', '.join(map(str, question.answer))})"]
    for text in typed:
        reply = question.grade(text)
        assert reply.correct and len(reply.text) > 10, text


@pytest.mark.parametrize(("name", "question"), VALUES, ids=[name for name, _ in VALUES])
def test_every_wrong_rule_has_a_reply(name: str, question: ValueQuestion) -> None:
    assert question.wrong_answers
    for value, _ in question.wrong_answers:
        reply = question.grade(format_answer(value))
        assert not reply.correct and reply.text
    other = question.grade("-987654")
    assert not other.correct and other.text.startswith("Not -987654. ") and len(other.text) > 30
    if question.multiple_choice:
        assert len(question.choices) == CHOICE_COUNT and len({*map(str, question.choices.values())}) == CHOICE_COUNT


#: Wrong answers of the curriculum: lesson, typed text, a part of the reply.
TYPED = [
    (2, "[2, 4, 8, 16]", "That is gave"),
    (2, "1 2 4 8 16", "it leaves as x_last"),
    (2, "1,1,1,1", "Inside one iteration x stays"),
    (3, "18", "Iteration 6 has run when it yields false: its 21"),
    (3, "20", "limit is only compared with"),
    (3, "7", "That is how many"),
    (3, "30", "10 trips would be the most"),
    (4, "0", "That is what A ends with"),
    (4, "2", "That is after one iteration"),
    (4, "nan", "A carried value always has one"),
    (4, "Nothing", "A carried value always has one"),
    (6, "3", "ONNX's table says otherwise"),
    (6, "0", "Absent is not false"),
    (6, "endless", "That is C"),
    (7, "(2, 2)", "one assignment after another"),
    (7, "(1, 1)", "the other order"),
    (7, "1 2", "That is right after 2 trades; there are 3"),
    (9, "12", "That is forwards"),
    (9, "34", "each is put behind: 4, then 4·10 + 3"),
    (9, "4", "That is one part"),
    (9, "432", "after three parts"),
    (10, "[30, 3, 20, 2, 10, 1]", "inside a part nothing moves"),
    (10, "[1, 10, 2, 20, 3, 30]", "That is joined"),
    (10, "[[3, 30], [2, 20], [1, 10]]", "it adds none"),
    (12, "[3, 6, 9, 12, 15, 18, 21]", "That is ONNX's counts: asked afterwards, so 21"),
    (12, "[3, 6, 9, 12, 15, 18]", "6 is right"),
    (12, "[0, 3, 6, 9, 12, 15, 18]", "18 is the last value"),
]


@pytest.mark.parametrize(("number", "typed", "says"), TYPED)
def test_wrong_answer_gets_the_reply_for_its_misconception(number: int, typed: str, says: str) -> None:
    lesson = LESSONS_BY_NUMBER[number]
    assert isinstance(lesson, Lesson) and isinstance(lesson.question, ValueQuestion)
    klass = LessonDriver(number, ask=lesson.question)
    klass.open_card("Ask")
    output = klass(f"answer {typed}")
    assert "✗" in output and says in output, output


#: Questions with other numbers, and their right answers.
OTHERS = [
    (2, {"n": 3, "x0": 5}, [5, 10, 20]),
    (3, {"limit": 21}, 21),
    (3, {"limit": 22}, 24),
    (4, {"x0": 9}, 9),
    (6, {"n": 4, "x0": 2}, 4),
    (7, {"n": 2, "a0": 5, "b0": 8}, [5, 8]),
    (9, {"x": [5, 0, 7]}, 70),
    (10, {"x": [7, 8, 9]}, [9, 90, 8, 80, 7, 70]),
    (12, {"limit": 13}, [0, 3, 6, 9]),
]


@pytest.mark.parametrize(("number", "inputs", "answer"), OTHERS)
def test_other_numbers_have_other_answers(number: int, inputs: dict[str, Any], answer: Any) -> None:
    lesson = LESSONS_BY_NUMBER[number]
    assert isinstance(lesson, Lesson) and isinstance(lesson.question, ValueQuestion)
    klass = LessonDriver(number, ask=lesson.question.with_inputs(**inputs))
    klass.open_card("Ask")
    assert "✓ Right" in klass(f"answer {answer}")


# -- states: the typed commands, and the final statement


ASKED: dict[tuple[int, int], StateQuestion] = {
    (1, 0): state_questions.run_count_question(5, 3),
    (1, 1): state_questions.carried_value_question(5, 0, 4),
    (5, 0): state_questions.iteration_count_question(5),
    (5, 1): state_questions.iteration_count_question(9),
    (8, 0): state_questions.final_value_question(1, 13),
    (8, 1): state_questions.final_value_question(2, 20),
    (11, 0): state_questions.position_question(3, 1, 3),
    (11, 1): state_questions.position_question(4, 2, 6),
}
STATES = [
    (1, 0, ["step 3", "answer here"], "✓ Right. 3 have run, numbers 0 to 2"),
    (1, 0, ["step 2", "answer here"], "Here 2 have run, numbers 0 to 1"),
    (1, 0, ["step 4", "answer here"], "Counting begins at 0: before iteration 3 it has run 3 times"),
    (1, 0, ["finish", "answer here"], "All 5 have run"),
    (1, 0, ["step", "back", "answer here"], "None yet"),
    (1, 0, ["step 3"], ""),
    (1, 1, ["step 4", "answer here"], "✓ Right. x is 12"),
    (1, 1, ["step 3", "answer here"], "x is 9 here"),
    (5, 0, ["set limit = 13", "finish"], "✓ Right. The condition ended it: 15 < 13"),
    (5, 0, ["set limit = 15", "finish"], "✓ Right"),
    (5, 0, ["set step = 4", "finish"], "✓ Right"),
    (5, 0, ["set count = 5", "finish"], "✓ Right"),
    (5, 0, ["set count = 7", "finish"], "✓ Right"),
    (5, 0, ["set trip_count = 5", "finish"], "✓ Right. The trip count ended it: below was true (15 < 20)"),
    (5, 0, ["set limit = 12", "finish"], "4: 12 < 12 is false already in iteration 3"),
    (5, 0, ["set step = 5", "finish"], "4: 20 < 20 is false already in iteration 3"),
    (5, 0, ["set limit = 16", "finish"], "6: in iteration 4 the comparison still says go on"),
    (5, 0, ["set limit = 21", "finish"], "7 iterations, as before"),
    (5, 0, ["set limit = 99", "finish"], "the trip count of 10 is next"),
    (5, 0, ["set limit = 99", "set trip_count = 5", "finish"], "but by 2 changes"),
    (5, 0, ["finish"], ""),
    (5, 1, ["set limit = 25", "finish"], "✓ Right"),
    (5, 1, ["set limit = 27", "finish"], "✓ Right"),
    (5, 1, ["set trip_count = 9", "finish"], "7 iterations, as before"),
    (5, 1, ["set limit = 28", "finish"], "10 iterations: you moved the condition away"),
    (8, 0, ["step 2", "set start = 10", "finish"], "✓ Right. Iteration 2 received 3"),
    (8, 0, ["step 2", "set start = 13", "finish"], "x_last is 16: iteration 2 adds start to what it received, 3 + 13"),
    (8, 0, ["step", "set start = 10", "finish"], "x_last is 22: every iteration from 1 on adds 10"),
    (8, 0, ["set start = 10", "finish"], "x_last is 31: every iteration from 0 on adds 10"),
    (8, 0, ["step 2", "set x = 12", "finish"], "x_last is right, but you changed x"),
    (8, 0, ["step 2", "set start = 9", "set start = 10", "finish"], "x_last is 13, by 2 changes"),
    (8, 1, ["step 2", "set start = 14", "finish"], "✓ Right"),
    (11, 0, ["break iter 2,1", "continue", "answer here"], "✓ Right. Iteration 1 of stair, in iteration 2 of stairs"),
    (11, 0, ["break iter 1,1", "continue", "answer here"], "Outer iteration 1: total is 1"),
    (11, 0, ["break iter 2,0", "continue", "answer here"], "Each entry begins at 0"),
    (11, 0, ["break iter 2,2", "continue", "answer here"], "h is 2: one too far"),
    (11, 0, ["into", "into", "step", "answer here"], "has no more iteration; on to the next"),
    (11, 1, ["break iter 3,2", "continue", "answer here"], "✓ Right. Iteration 2 of stair, in iteration 3 of stairs"),
]


@pytest.mark.parametrize(("number", "which", "lines", "says"), STATES)
def test_states_are_judged_where_they_are_reached(number: int, which: int, lines: list[str], says: str) -> None:
    klass = LessonDriver(number, ask=ASKED[number, which])
    klass.open_card("Ask")
    output = klass(*lines)
    assert "error" not in output
    if says:
        assert says in output.replace("  ", " "), output
        assert klass.learner.solved == says.startswith("✓")
    else:
        assert not klass.learner.solved


def counted(scene: Scene, **inputs: Any) -> int:
    """The number of rows of a scan output in ONNX Runtime."""
    return len(peer_outputs(scene.with_inputs(**inputs))["counts"])


def test_lesson_5_row_counts_match_onnxruntime() -> None:
    scene = LESSONS_BY_NUMBER[5].scene
    five = [{"limit": 13}, {"limit": 15}, {"step": 4}, {"start": 5}, {"start": 7}, {"max_trips": 5}]
    assert [counted(scene, **item) for item in five] == [5] * len(five)
    assert [counted(scene, limit=limit) for limit in (12, 16, 24, 25, 27, 28)] == [4, 6, 8, 9, 9, 10]
    assert counted(scene, max_trips=9) == 7


def test_lesson_8_as_plain_arithmetic() -> None:
    """No runtime changes a capture between two iterations; only this debugger does."""
    scene = LESSONS_BY_NUMBER[8].scene
    assert scene.reference_run["x_last"] == 1 + 3 * 1 and scene.reference_run.carried_value("grow", "x", 2) + 10 == 13


def test_openvino_swaps_sequentially_as_lesson_7_states(tmp_path: Any) -> None:
    from loopdbg.tui.cli import main

    scene = LESSONS_BY_NUMBER[7].scene
    note = next(lesson_value for lesson_value in LESSONS if lesson_value.number == 7).write_note
    assert note is not None and "(2, 2)" in note(scene, lambda scene, peer: "")
    # 6: there is a difference.
    assert main(["diff", str(scene.path), "--against", "openvino"]) == 6


@pytest.mark.parametrize(("number", "telling"), [(6, "ONNX Runtime and OpenVINO test"), (7, "OpenVINO's CPU plugin")])
def test_runtime_behavior_is_explained_for_every_answer(number: int, telling: str) -> None:
    klass = LessonDriver(number)
    klass.open_card("Ask")
    assert telling not in klass("answer 77 77").replace("\n", " ")
    for _ in range(2):
        klass("again")
        assert telling in klass.answer_correctly()
    klass("again", "hint", "hint")
    assert telling in klass("hint")
    klass.open_card("Remember")
    assert telling in klass.card


def test_scene_uses_sidecar_inputs_by_default() -> None:
    scene = Scene("counter.onnx")
    assert scene.reference_run.iterations == LESSONS_BY_NUMBER[3].scene.reference_run.iterations == 7


def test_missing_model_is_one_clear_error() -> None:
    with raises_error(loopdbg.ModelError, name="nowhere.onnx"):
        Scene("nowhere.onnx").load()


STATED = [(name, card) for name, card in JUDGED if isinstance(next(drawn_questions(card)), StateQuestion)]


@pytest.mark.parametrize(("name", "card"), STATED, ids=[name for name, _ in STATED])
def test_state_questions_are_solved_by_their_last_hint(name: str, card: Card) -> None:
    number = int(name.partition(".")[0])
    for question in drawn_questions(card, 8):
        assert isinstance(question, StateQuestion)
        klass = (
            LessonDriver(number, ask=question)
            if isinstance(LESSONS_BY_NUMBER[number], Lesson)
            else LessonDriver(number)
        )
        if isinstance(LESSONS_BY_NUMBER[number], Lesson):
            klass.open_card("Ask")
        assert "✓ Right" in klass(*solution_commands(question)), (
            question.text,
            solution_commands(question),
            klass.output_lines,
        )


# -- success by guessing


def guesses(card: Card, count: int) -> Iterator[tuple[Question, str]]:
    """Questions, and blind answers to them: a letter, or the answers to other questions of these."""
    random = Random(11)
    asked = list(drawn_questions(card, count, seed=5))
    pool = [answer for question in asked if isinstance(question, ValueQuestion) for answer in plausible(question)]
    for question in asked:
        choices = list(question.choices)
        yield question, random.choice(choices) if choices else str(random.choice(pool))


def plausible(question: ValueQuestion) -> list[Any]:
    """Plausible answers: the right one, and those of the wrong rules."""
    return [question.answer, *(value for value, _ in question.wrong_answers if not isinstance(value, str))]


GUESSED = [(name, card) for name, card in JUDGED if not isinstance(next(drawn_questions(card)), StateQuestion)]
#: Of 50 answers with a chance of one quarter, no more than this many are right except with probability 1/1000.
MOST = 22


@pytest.mark.parametrize(("name", "card"), GUESSED, ids=[name for name, _ in GUESSED])
def test_fifty_guesses_pass_no_more_than_chance(name: str, card: Card) -> None:
    assert sum(question.grade(typed).correct for question, typed in guesses(card, 50)) <= MOST


@pytest.mark.parametrize(("name", "card"), GUESSED, ids=[name for name, _ in GUESSED])
def test_no_answer_is_right_each_time(name: str, card: Card) -> None:
    """Neither a fixed letter nor a fixed value: a repeated question has other numbers."""
    if card.row is not None:
        return
    asked = list(drawn_questions(card, 60, seed=3))
    for letter in asked[0].choices:
        assert sum(question.grade(letter).correct for question in asked) <= 27
    answers = [str(question.answer) for question in asked]  # type: ignore[attr-defined]
    assert max(map(answers.count, answers)) <= 27
    assert len({question.text for question in asked}) > 3


@pytest.mark.parametrize(("number", "card"), [(1, "Ask"), (11, "Ask")])
def test_fifty_positions_pass_no_more_than_chance(number: int, card: str) -> None:
    random, passed = Random(7), 0
    klass = LessonDriver(number)
    klass.open_card(card)
    for _ in range(50):
        klass(*(["into"] * random.randint(1, 6) if number == 11 else []), f"step {random.randint(1, 8)}")
        passed += "✓ Right" in klass("answer here")
        klass("again")
    assert passed <= MOST


@pytest.mark.parametrize(("number", "what"), [(5, "limit"), (8, "start")])
def test_fifty_edits_pass_no_more_than_chance(number: int, what: str) -> None:
    random, passed = Random(7), 0
    klass = LessonDriver(number)
    klass.open_card("Ask")
    for _ in range(50):
        passed += "✓ Right" in klass("step 2" if number == 8 else "", f"set {what} = {random.randint(1, 30)}", "finish")
        klass("again")
    assert passed <= MOST


def test_one_question_takes_one_answer() -> None:
    klass = LessonDriver(3)
    klass.open_card("Ask")
    klass("answer 0")
    assert "this question is answered; again asks with other numbers" in klass.answer_correctly()
    assert not klass.learner.solved and klass.learner.progress[3].tries == 1


STILL = [(name, card) for name, card in GUESSED if card.kind is not CardKind.QUIZ]


@pytest.mark.parametrize(("name", "card"), STILL, ids=[name for name, _ in STILL])
def test_commands_that_would_reveal_the_answer_are_refused(name: str, card: Card) -> None:
    number, _, k = name.partition(".")
    klass = LessonDriver(int(number))
    klass(f"card {k}")
    for line in ("step", "finish", "continue", "next", "goto 1", "why", "list", "info loops", "set x = 1", "history x"):
        assert klass(line).startswith("error: "), line
    session = klass.console.session
    assert not session.done
    assert all(total.iterations == 0 for total in session.totals)
    assert "Right" in klass.answer_correctly() and not klass("restart").startswith("error")
