"""Exports a course as static HTML pages for a class, with the answers on a separate page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from random import Random

from ...runtime.atomic_file import atomic_folder, write_text
from ...runtime.errors import UsageError
from ...runtime.graph import If, Loop, Node, walk
from ..describe.explain import explain
from ..plots.loop_svg import loop_svg
from .key_wording import KeyWording
from .lesson import Card, CardKind, Course, ExerciseSet, Quiz
from .question import OpenQuestion, Question, StateQuestion, ValueQuestion, format_answer, render_text
from .scene import Scene

#: The number of variants of a question on a page, with different numbers.
VARIANTS_PER_QUESTION = 3


@dataclass(frozen=True)
class PrintedQuestion:
    """A question on a page, with its number in the lesson."""

    number: str
    question: Question


def write_course(course: Course, folder: Path, seed: int) -> list[Path]:
    """Write a course and return its pages, the index first. The same seed writes the same pages.

    Raises:
        UsageError: the folder cannot be written.
    """
    writer = _CoursePageWriter(course, seed)
    pages = {"index.html": writer.index_page()}
    pages |= {_lesson_file(number): writer.lesson_page(number) for number in course.lessons}
    pages["answers.html"] = writer.answers_page()
    try:
        with atomic_folder(folder) as temporary:
            for name, text in pages.items():
                write_text(temporary / name, text)
    except OSError as error:
        raise UsageError(f"{folder}: the pages cannot be written: {error.strerror}") from None
    return [folder / name for name in pages]


def _lesson_file(number: int) -> str:
    return f"lesson-{number:02}.html"


def _comparison_text(scene: Scene, peer: str) -> str:
    return f"Comparing {scene.model} with {peer}"


class _CoursePageWriter:
    """Renders the pages of a course."""

    def __init__(self, course: Course, seed: int) -> None:
        self._course = course
        self._head = Path(__file__).with_name("page_head.html").read_text(encoding="utf-8")
        self._key_wording = KeyWording({}, _comparison_text, str)
        self._questions: dict[int, list[PrintedQuestion]] = {}
        self._cards: dict[int, Sequence[Card]] = {}
        for number, lesson in course.lessons.items():
            random = Random(f"{seed} {number}")
            self._cards[number] = lesson.deal_cards(random)
            self._questions[number] = list(self._draw_questions(self._cards[number], random))

    def _draw_questions(self, cards: Sequence[Card], random: Random) -> Iterator[PrintedQuestion]:
        """Draw the questions of a lesson, several distinct variants per card."""
        number = 0
        for card in cards:
            if not card.kind.graded or not card.has_question:
                continue
            number += 1
            times = (
                VARIANTS_PER_QUESTION
                if card.generate_question is not None and card.kind in (CardKind.ASK, CardKind.TASK)
                else 1
            )
            seen: set[str] = set()
            for _ in range(times):
                question = card.draw_question(random)
                if question is not None and question.text not in seen:
                    seen.add(question.text)
                    yield PrintedQuestion(f"{number}.{len(seen)}", question)

    # -- pages

    def index_page(self) -> str:
        """The table of contents."""
        course = self._course
        rows = [
            f'<tr><td>{number}</td><td><a href="{_lesson_file(number)}">{escape(lesson.title)}</a></td>'
            f"<td>{lesson.minutes} min</td><td>{escape(lesson.goal)}</td></tr>"
            for number, lesson in course.lessons.items()
        ]
        return self._page_html(
            course.title,
            f"<h1>{escape(course.title)}</h1>",
            "<table>",
            *rows,
            "</table>",
            '<p><a href="answers.html">Answers, for the teacher</a></p>',
        )

    def lesson_page(self, number: int) -> str:
        """The page of a lesson."""
        lesson, remaining = self._course.lessons[number], iter(self._questions[number])
        parts = [self._navigation_html(number), f"<h1>{number}. {escape(lesson.title)}</h1>"]
        if lesson.goal:
            parts.append(f"<p><strong>Goal:</strong> {escape(lesson.goal)}</p>")
        pending = next(remaining, None)
        # A quiz asks about the files alone: no figures.
        figures = [] if isinstance(lesson, Quiz) else [*self._scenes_html(lesson)]
        graded = 0
        for k, card in enumerate(self._cards[number]):
            html = [*self._card_html(lesson, card)]
            questions = []
            if card.kind.graded and card.has_question:
                graded += 1
                while pending is not None and pending.number.startswith(f"{graded}."):
                    questions += [*_question_html(pending)]
                    pending = next(remaining, None)
            if html or questions:
                parts += [f"<h2>{escape(card.kind.value)}</h2>", *html, *questions]
            if k == 0 or (k == 1 and self._cards[number][0].kind is CardKind.RECALL):
                parts += figures
                figures = []
        return self._page_html(f"{number}. {lesson.title}", *parts, self._navigation_html(number))

    def answers_page(self) -> str:
        """The answers of all lessons, with the replies to wrong ones."""
        parts = ['<nav><a href="index.html">All lessons</a></nav>', "<h1>Answers</h1>"]
        for number, lesson in self._course.lessons.items():
            if self._questions[number]:
                parts.append(f"<h2>{number}. {escape(lesson.title)}</h2><table>")
                parts += [_answer_row_html(question) for question in self._questions[number]]
                parts.append("</table>")
            if lesson.write_note is not None:
                parts.append(f"<p>{_inline_code_html(lesson.write_note(lesson.scene, _comparison_text))}</p>")
        return self._page_html("Answers", *parts)

    def _page_html(self, title: str, *parts: str) -> str:
        return self._head.format(title=escape(title)) + "\n".join(parts) + "\n</body>\n</html>\n"

    def _navigation_html(self, number: int) -> str:
        numbers = [*self._course.lessons]
        index = numbers.index(number)
        neighbours = [("before", numbers[index - 1 : index]), ("next", numbers[index + 1 : index + 2])]
        links = [f'<a href="{_lesson_file(n)}">{label}: lesson {n}</a>' for label, ids in neighbours for n in ids]
        return f'<nav><a href="index.html">All lessons</a>{"".join(links)}</nav>'

    # -- parts of pages

    def _card_html(self, lesson: ExerciseSet, card: Card) -> Iterator[str]:
        """The text of a card without its graded questions; a question for a first guess is included."""
        text = render_text(card.text, card.scene.reference_run) if card.text else ""
        lines = text.splitlines()
        items = [line.strip() for line in lines if line.startswith("  ")]
        yield from (
            f"<p>{_inline_code_html(self._key_wording(line))}</p>" for line in lines if not line.startswith("  ")
        )
        if items:
            yield f"<ul>{''.join(f'<li>{_inline_code_html(line)}</li>' for line in items)}</ul>"
        if card.kind is CardKind.SAY and card.question is not None:
            yield from _question_html(PrintedQuestion("", card.question))
        if card.steps:
            yield "<ol>"
            for step in card.steps:
                times = f" × {step.times}" if step.times > 1 else ""
                yield f"<li><code>{escape(step.keys)}</code>{times}: {escape(step.description)}</li>"
            yield "</ol>"

    def _scenes_html(self, lesson: ExerciseSet) -> Iterator[str]:
        """The loops of a lesson: inputs, figure, pseudo-code."""
        scenes = lesson.scenes or {"": lesson.scene}
        for letter, scene in scenes.items():
            inputs = ", ".join(f"{name} = {format_answer(value)}" for name, value in scene.inputs.items())
            name = f"Scene {letter}: {scene.model}" if letter else scene.model
            yield f"<figure><figcaption>{escape(name)}{escape(f' ({inputs})' if inputs else '')}</figcaption>"
            yield from _loop_figures_html(scene)
            yield "</figure>"


def _loop_figures_html(scene: Scene) -> Iterator[str]:
    """The top-level loops of a model: each as a figure with inner nodes expanded, and as a listing."""
    model = scene.cached_model()
    listings = {item.loop: item.source.text() for item in explain(model)}
    for node in model.loops:
        expanded: list[Node] = [item for item in walk(node.loop.body) if isinstance(item, If | Loop)]
        yield loop_svg(model.graph, node.loop, opened=expanded)
        yield f"<pre>{escape(chr(10).join(listings[node.loop]))}</pre>"


def _question_html(printed: PrintedQuestion) -> Iterator[str]:
    """A question, with a line for the answer or a list of choices."""
    question = printed.question
    first, *lines = question.text.splitlines()
    number = f"<strong>{printed.number}</strong> " if printed.number else ""
    yield f'<div class="question"><p>{number}{_inline_code_html(first)}</p>'
    items = [line for line in lines if line.startswith("  ")]
    if items:
        yield f"<pre>{escape(chr(10).join(line.strip() for line in items))}</pre>"
    yield from (f"<p>{_inline_code_html(line)}</p>" for line in lines if line not in items)
    if question.choices:
        yield '<ol class="choices">'
        yield from (f"<li>{escape(format_answer(value))}</li>" for value in question.choices.values())
        yield "</ol>"
    elif not isinstance(question, StateQuestion):
        yield '<p>Answer: <span class="box">&nbsp;</span></p>'
    yield "</div>"


def _answer_row_html(printed: PrintedQuestion) -> str:
    """The table row of an answer."""
    question, wrong = printed.question, ""
    if isinstance(question, StateQuestion):
        correct, explanation = "", question.hint(len(getattr(question, "hints", ())))
    elif isinstance(question, OpenQuestion):
        correct, explanation = "", "It is not judged."
    else:
        answer = question.answer  # type: ignore[attr-defined]
        letter = next((f"{key}) " for key, value in question.choices.items() if value == answer), "")
        correct, explanation = f"{letter}{format_answer(answer)}", question.grade(str(answer)).text
    if isinstance(question, ValueQuestion):
        items = (
            f"<li>{escape(format_answer(value))}: {_inline_code_html(question.grade(format_answer(value)).text)}</li>"
            for value, _ in question.wrong_answers
        )
        wrong = f"<ul>{''.join(items)}</ul>"
    prompt = _inline_code_html(question.text.splitlines()[0])
    return (
        f"<tr><td>{printed.number}</td><td>{prompt}<br><strong>{escape(correct)}</strong>"
        f" {_inline_code_html(explanation)}{wrong}</td></tr>"
    )


def _inline_code_html(text: str) -> str:
    """A text of a lesson as HTML: backquotes mark code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts))
