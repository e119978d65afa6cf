"""Questions of lesson 17: how a TensorIterator cuts its input."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from ....runtime.text import count_text
from ..question import Question, QuestionGenerator, ValueQuestion, WrongRule, choose_generator, vary_inputs
from ..scene import Scene


class TensorIteratorSlice:
    """The slice attributes of a TensorIterator input."""

    def __init__(self, file: str, start: int = 0, end: int = -1, stride: int = 1, size: int = 1) -> None:
        self.file, self.start, self.end, self.stride, self.size = file, start, end, stride, size

    @property
    def text(self) -> str:
        """The attributes as in the file."""
        return f'start="{self.start}" end="{self.end}" stride="{self.stride}" part_size="{self.size}"'

    def joined_parts(
        self, x: list[int], *, start: int | None = None, backward: bool | None = None, extra: int = 0
    ) -> list[Any]:
        """The result of a rule: the joined parts times ten. ``start``, ``backward``: override attributes;
        ``extra``: the number of elements read beyond the end."""
        first, last = (v if v >= 0 else len(x) + 1 + v for v in (self.start, self.end))
        low, high = min(first, last), max(first, last)
        if start is not None:
            low, high = start, start + high - low
        pieces = [x[k : k + self.size] for k in range(low, min(high + extra, len(x)), abs(self.stride))]
        reverse = self.stride < 0 if backward is None else backward
        return [10 * value for piece in (reversed(pieces) if reverse else pieces) for value in piece]


TENSOR_ITERATOR_SLICES = (
    TensorIteratorSlice("cut_pairs.xml", stride=2, size=2),
    TensorIteratorSlice("cut_threes.xml", stride=3, size=3),
    TensorIteratorSlice("cut_range.xml", start=1, end=5),
    TensorIteratorSlice("cut_from_end.xml", start=-5, end=-2),
    TensorIteratorSlice("cut_tail.xml", start=2),
    TensorIteratorSlice("cut_back.xml", start=-1, end=0, stride=-1),
    TensorIteratorSlice("cut_pairs_back.xml", start=-1, end=0, stride=-2, size=2),
    TensorIteratorSlice("cut_range_back.xml", start=5, end=2, stride=-1),
)
_SIX_ELEMENTS = [1, 2, 3, 4, 5, 6]


def joined_parts_question(part: TensorIteratorSlice) -> ValueQuestion:
    """Ask for the joined parts times ten."""
    scene = Scene(part.file, {"x": _SIX_ELEMENTS})
    return ValueQuestion(
        scene,
        lambda run: (
            f"A TensorIterator cuts x = {run['x']} with {part.text}. Each iteration makes ten times its part; tens "
            "joins them in the order of the iterations. What is tens?"
        ),
        lambda run: run["tens"],
        lambda run: (
            f"It runs {run.iterations} iterations, with {count_text(part.size, 'element')} each. A negative start "
            "or end counts from one behind the last element, end is exclusive, and a negative stride turns the order "
            "of the parts, not what is inside of them."
        ),
        (
            WrongRule(
                lambda run: part.joined_parts(run["x"], backward=part.stride > 0), "The parts come in the other order."
            ),
            WrongRule(
                lambda run: part.joined_parts(run["x"])[::-1],
                "Inside of a part nothing is turned round, whatever the sign of the stride.",
            ),
            WrongRule(
                lambda run: part.joined_parts(run["x"], start=0),
                "That begins at element 0; start says where the range begins.",
            ),
            WrongRule(
                lambda run: part.joined_parts(run["x"], extra=1), "That is one element too many: end is exclusive."
            ),
            WrongRule(lambda run: [10 * v for v in run["x"]], "That is all of x in its own order."),
            WrongRule(
                lambda run: [10 * v for v in run["x"][:: abs(part.stride)]],
                "A part has part_size elements; stride is only how far it is to the next part.",
            ),
            WrongRule(lambda run: part.joined_parts(run["x"])[: -part.size], "One part is missing."),
            WrongRule(lambda run: part.joined_parts(run["x"])[part.size :], "One part is missing."),
        ),
        "`r`, then `s`: the row of part among the inputs of the body says what each iteration gets.",
        (
            "First which elements lie in the range, then how many a part has, then in which order the parts come.",
            "`scene A` and `scene B` may be run: `s`, and watch part.",
        ),
        multiple_choice=True,
    )


def _random_elements(random: Random) -> Mapping[str, Any]:
    return {"x": random.sample(range(1, 10), 6)}


def _iterations_question(part: TensorIteratorSlice) -> ValueQuestion:
    """Ask for the number of iterations."""
    return ValueQuestion(
        Scene(part.file, {"x": _SIX_ELEMENTS}),
        f"A TensorIterator cuts six elements with {part.text}. How many iterations run?",
        lambda run: run.iterations,
        lambda run: (
            f"From start to end it is {run.iterations * abs(part.stride)} elements, a part every {abs(part.stride)}."
        ),
        (
            WrongRule(lambda run: run.iterations + 1, "That is one too many: end is exclusive."),
            WrongRule(lambda _: 6, "That is the number of elements; not every one begins a part."),
        ),
        "`f` runs it, and the title says how many.",
        ("How many elements lie between start and end?", "`scene A` and `scene B` may be run."),
        hides_listing=True,
    )


def _generate_iterations_question(random: Random) -> Question:
    """Ask for the number of iterations, with each answer equally likely."""
    counts: dict[int, list[ValueQuestion]] = {}
    for question in map(_iterations_question, TENSOR_ITERATOR_SLICES):
        counts.setdefault(question.answer, []).append(question)
    return random.choice(counts[random.choice(sorted(counts))]).redraw(random, {})


def _slice_questions() -> Mapping[str, tuple[Question, QuestionGenerator]]:
    questions: dict[str, tuple[Question, QuestionGenerator]] = {}
    for part in TENSOR_ITERATOR_SLICES:
        question = joined_parts_question(part)
        questions[part.file.removesuffix(".xml")] = question, vary_inputs(question, _random_elements)
    # A choice of one, so that the numbers of a seed stay what they were.
    alone, generator = questions["cut_pairs_back"]
    questions["cut_pairs_back"] = alone, choose_generator(generator)
    questions["slice_iterations"] = _iterations_question(TENSOR_ITERATOR_SLICES[0]), _generate_iterations_question
    return questions


#: Each as first asked, and its generator; by the names in the lesson file.
SLICE_QUESTIONS = _slice_questions()
