"""Reads lessons from TOML files: those of a custom course, which is a folder with course.toml and a file for each
lesson (docs/lessons.md), and those of the built-in course, which may also name what Python computes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from ...runtime.errors import LoopdbgError, UsageError
from ..expression.expression import Expression
from ..frontends.console.command_registry import find_command
from .course_expressions import (
    NO_VALUES,
    ComputedValues,
    LearnerScope,
    evaluate_on_run,
    fill_template,
    parse_expression,
)
from .lesson import Card, CardKind, Course, ExerciseSet, Lesson, LessonStep, NoteWriter
from .mode_question import make_mode_question
from .question import (
    CHOICE_COUNT,
    Feedback,
    OpenQuestion,
    Question,
    QuestionGenerator,
    RunText,
    StateQuestion,
    ValueQuestion,
    WrongRule,
    input_variant_generator,
    random_choice_generator,
)
from .scene import MODELS_FOLDER, Scene
from .session_queries import LearnerState
from .toml_table import TomlTable

#: The file that describes the course.
COURSE_FILE = "course.toml"


@dataclass(frozen=True)
class LessonCode:
    """What Python computes for the files of the built-in course, by the names that they use. ``questions``: each as
    first asked, and its generator, None where it never changes."""

    values: ComputedValues
    inputs: Mapping[str, Callable[[Random], Mapping[str, Any]]]
    questions: Mapping[str, tuple[Question, QuestionGenerator | None]]
    notes: Mapping[str, NoteWriter]


def read_course(folder: Path) -> Course:
    """Read a course from a folder, and test every card once, so that errors are found before class.

    Raises:
        UsageError: the folder has no course, or a file is invalid; the message names the file, place and error.
        ModelError: a model cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: there is no such folder; learn takes a folder with a course, or a lesson's number",
            name=str(folder),
            expected="a folder",
        )
    if not (folder / COURSE_FILE).is_file():
        raise UsageError(
            f"{folder}: there is no {COURSE_FILE} in it, which gives the course its title (docs/lessons.md)",
            name=COURSE_FILE,
        )
    fields = TomlTable.read(folder / COURSE_FILE)
    title = fields.pop("title", str)
    names = fields.pop_strings("lessons") or tuple(
        sorted(path.name for path in folder.glob("*.toml") if path.name != COURSE_FILE)
    )
    fields.reject_remaining()
    if not names:
        raise UsageError(
            f"{folder}: there is no lesson in it: a lesson is a file such as 1.toml (docs/lessons.md)",
            name=str(folder),
            expected="a lesson",
        )
    lessons: dict[int, ExerciseSet] = {
        number: _LessonReader(TomlTable.read(folder / name), folder).read_exercise_set(number)
        for number, name in enumerate(names, 1)
    }
    # Progress is stored by path: two courses may have the same title.
    key = zlib.crc32(str(folder.resolve()).encode())
    return Course(f"course-{key:08x}", title, lessons)


def read_built_in_lesson(
    number: int, path: Path, code: LessonCode, generator_of: Callable[[str], QuestionGenerator]
) -> tuple[ExerciseSet, Mapping[str, QuestionGenerator]]:
    """A lesson of the built-in course, and the generators of its questions by name; ``generator_of``: those of other
    lessons, as ``file.question``. Its models are loaded when they are needed.

    Raises:
        UsageError: the file is invalid.
    """
    fields = TomlTable.read(path)
    reader = _BuiltInReader(fields, code)
    lesson = (
        reader.read_exercise_set(number) if "cards" in fields.remaining_names() else reader.lesson(number, generator_of)
    )
    return lesson, {name: generator for name, (_, generator) in reader.questions.items() if generator}


def _with_location(fields: TomlTable, compute: Callable[[], Any]) -> Any:
    """Call ``compute``, and add the location in the file to its errors.

    Raises:
        UsageError: the call fails.
    """
    try:
        return compute()
    except UsageError as error:
        text = str(error)
        raise UsageError(text if text.startswith(fields.location) else f"{fields.location}: {text}") from None
    except (LoopdbgError, ValueError, TypeError, KeyError, OSError) as error:
        raise fields.error(f"its model does not run with these inputs: {error}") from None


def _render_card_once(card: Card) -> None:
    """Render a card once, with all of its replies and hints."""
    question = card.draw_question(Random(0))
    card.paragraphs(question)
    if isinstance(question, ValueQuestion):
        question.grade(str(question.answer))
        for value, _ in question.wrong_answers:
            question.grade(str(value))
        question.grade("-987654321")
    for number in range(3 if question is not None else 0):
        question.hint(number)  # type: ignore[union-attr]


#: The console commands of screen keys.
_KEY_COMMANDS = {"←": "back", "W": "why", "[": "up", "]": "down", "B": "break"}


def _read_step(fields: TomlTable) -> LessonStep:
    keys, description, times = fields.pop("keys", str), fields.pop("does", str), fields.pop("times", int, 1)
    exact = fields.pop("exact", bool, True)
    fields.reject_remaining()
    word = keys.split(" ")[0]
    if word == "scene":
        return LessonStep(keys, "scene", description, times)
    command = _with_location(fields, lambda: find_command(_KEY_COMMANDS.get(word, word)).name)
    return LessonStep(keys, command, description, times, exact)


class _LessonReader:
    """Reads the file of a lesson, and tries everything in it. ``folder``: that of its models; ``values``: what its
    expressions may name besides the values of a run."""

    #: Whether the file may be wrong, so that its models are opened at once.
    checks: ClassVar[bool] = True

    def __init__(self, fields: TomlTable, folder: Path, values: ComputedValues = NO_VALUES) -> None:
        self.fields, self.folder, self.values = fields, folder, values
        self.scenes: dict[str, Scene] = {}
        self.card_makers: Mapping[str, Callable[[TomlTable, Scene, RunText], Card]] = {
            "read": lambda fields, scene, text: Card(CardKind.READ, text, scene),
            "do": self._read_do_card,
            "ask": self._read_ask_card,
            "place": self._read_place_card,
            "mode": self._read_mode_card,
            "end": lambda fields, scene, text: Card(CardKind.LAST, text, scene),
        }

    def read_exercise_set(self, number: int) -> ExerciseSet:
        """A lesson of any number of cards."""
        fields = self.fields
        title, minutes = fields.pop("title", str), fields.pop("minutes", int, 5)
        goal, note = fields.pop("goal", str, ""), self.read_note()
        self.read_scenes()
        self.read_questions()
        cards = tuple(map(self._read_card, fields.pop_tables("cards")))
        fields.reject_remaining()
        if not cards:
            raise fields.error("there is no card: each is a [[cards]]")
        if cards[-1].kind is not CardKind.LAST:
            cards = (*cards, Card(CardKind.LAST, "", next(iter(self.scenes.values()))))
        return ExerciseSet(number, title, minutes, cards, goal, self.scenes, note)

    def read_note(self) -> NoteWriter | None:
        """The note on other runtimes, which only built-in lessons have."""
        return None

    def read_questions(self) -> None:
        """Read the questions that several cards share, which only built-in lessons have."""

    def read_scenes(self, default: dict[str, Any] | None = None) -> None:
        """Read the scenes of the lesson; without a default there must be some.

        Raises:
            UsageError: a scene is invalid.
        """
        fields = TomlTable(self.fields.pop("scenes", dict, default), f"{self.fields.location}: scenes")
        for letter in sorted(fields.remaining_names()):
            if not (len(letter) == 1 and letter.isascii() and letter.isupper()):
                raise fields.error(f"a scene is a capital letter, not '{letter}'")
            self.scenes[letter] = self.new_scene(TomlTable(fields.pop(letter, dict), f"{fields.location}.{letter}"))
        if not self.scenes and default is None:
            raise fields.error("there is no scene: [scenes.A] with a model and its inputs")

    def new_scene(self, fields: TomlTable) -> Scene:
        """A scene by its model and inputs."""
        scene = Scene(fields.pop("model", str), fields.pop("inputs", dict, {}), self.folder)
        fields.reject_remaining()
        if self.checks:
            if not scene.path.is_file():
                raise fields.error(f"there is no model {scene.path}")
            _with_location(fields, lambda: scene.input_arrays(scene.cached_model()))
        return scene

    def read_scene(self, fields: TomlTable) -> Scene:
        """The scene of a card or question, the first one if it names none."""
        letter = fields.pop("scene", str, next(iter(self.scenes)))
        if letter not in self.scenes:
            raise fields.error(f"there is no scene '{letter}'; there are {', '.join(self.scenes)}")
        return self.scenes[letter]

    def text(self, text: str) -> RunText:
        """A text; one with braces is filled in for each run."""
        return (lambda run: fill_template(text, run, self.values)) if "{" in text else text

    def read_steps(self, fields: TomlTable) -> tuple[LessonStep, ...]:
        """The steps of an exercise."""
        return tuple(map(_read_step, fields.pop_tables("steps")))

    # -- cards

    def _read_card(self, fields: TomlTable) -> Card:
        kind = fields.pop("kind", str)
        if kind not in self.card_makers:
            raise fields.error(f"there is no kind '{kind}'; there are {', '.join(self.card_makers)}")
        scene = self.read_scene(fields)
        card = self.card_makers[kind](fields, scene, self.text(fields.pop("text", str, "")))
        fields.reject_remaining()
        if self.checks:
            _with_location(fields, lambda: _render_card_once(card))
        return card

    def _read_do_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        return Card(CardKind.DO, text, scene, steps=self.read_steps(fields))

    def _read_ask_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        question = self.value_question(fields, scene)
        return Card(CardKind.ASK, text, scene, generate_question=self.question_generator(fields, question))

    def _read_place_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        condition, prompt = self.expression(fields, "where"), fields.pop("question", str)
        cause = fields.pop("why", str)
        hint = fields.pop("see", str, "Look at the panes: what is asked for is not so here.")
        hints, vary = fields.pop_strings("hints"), self.input_generator(fields, scene)

        def check_state(state: LearnerState) -> Feedback | None:
            """Whether the condition holds in the learner's state."""
            if not state.loop_name or not condition.truth(LearnerScope(state.frame, state.reference_run)):
                return None
            return Feedback(True, fill_template(cause, state.reference_run))

        def draw(random: Random) -> Question:
            """The question with other inputs."""
            varied = scene.with_inputs(**vary(random))
            asks = self.text(f"{prompt}; then `answer here`.")
            return StateQuestion(varied, asks, check_state, hint, tuple(map(self.text, hints)), requires_claim=True)

        return Card(CardKind.ASK, text, scene, generate_question=draw)

    def _read_mode_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        question = _with_location(fields, lambda: make_mode_question(scene))
        return Card(
            CardKind.ASK,
            text,
            scene,
            generate_question=lambda random: replace(question, seed=random.randrange(1 << 30)),
        )

    # -- questions

    def expression(self, fields: TomlTable, name: str) -> Expression:
        """The expression in a field."""
        expression: Expression = _with_location(fields, lambda: parse_expression(fields.pop(name, str)))
        return expression

    def value_question(self, fields: TomlTable, scene: Scene) -> ValueQuestion:
        """A question for a value."""
        answer = self.expression(fields, "answer")
        wrong_rules = tuple(map(self._read_wrong_rule, fields.pop_tables("wrong")))
        choice = fields.pop("choice", bool, False)
        if choice and len(wrong_rules) < CHOICE_COUNT - 1:
            raise fields.error(f"a choice needs {CHOICE_COUNT - 1} wrong answers, and has {len(wrong_rules)}")
        return ValueQuestion(
            scene,
            self.text(fields.pop("question", str)),
            lambda run: evaluate_on_run(answer, run, self.values),
            self.text(fields.pop("why", str)),
            wrong_rules,
            self.text(fields.pop("see", str, "Run it to see.")),
            tuple(map(self.text, fields.pop_strings("hints"))),
            choice,
        )

    def _read_wrong_rule(self, fields: TomlTable) -> WrongRule:
        value, reply = self.expression(fields, "gives"), self.text(fields.pop("reply", str))
        fields.reject_remaining()
        return WrongRule(lambda run: evaluate_on_run(value, run, self.values), reply)

    def question_generator(self, fields: TomlTable, question: ValueQuestion) -> QuestionGenerator:
        """A generator of a question with drawn inputs."""
        draw_inputs = self.input_generator(fields, question.scene)
        if not question.wrong_rules:
            return lambda random: question.redraw(random, draw_inputs(random))
        return input_variant_generator(question, draw_inputs)

    def input_generator(self, fields: TomlTable, scene: Scene) -> Callable[[Random], Mapping[str, Any]]:
        """A generator of the inputs that are drawn."""
        table = TomlTable(fields.pop("draw", dict, {}), f"{fields.location}: draw")
        if self.checks:
            inputs = {port.name for port in scene.cached_model().inputs}
            for name in table.remaining_names():
                if name not in inputs:
                    raise table.error(f"the model has no input '{name}'; it has {', '.join(sorted(inputs))}")
        rules = {name: _value_generator(table, name) for name in table.remaining_names()}
        return lambda random: {name: rule(random) for name, rule in rules.items()}


class _BuiltInReader(_LessonReader):
    """Reads a lesson of the built-in course, whose models are loaded when they are needed."""

    checks = False

    def __init__(self, fields: TomlTable, code: LessonCode) -> None:
        super().__init__(fields, MODELS_FOLDER, code.values)
        self._code = code
        #: The questions of the file by name.
        self.questions: dict[str, tuple[Question, QuestionGenerator | None]] = {}
        self.card_makers = {
            **self.card_makers,
            "ask": self._read_built_in_ask_card,
            "task": self._read_task_card,
            "look": lambda fields, scene, text: Card(CardKind.LOOK, text, scene),
        }

    def read_scenes(self, default: dict[str, Any] | None = None) -> None:
        super().read_scenes({})

    def lesson(self, number: int, generator_of: Callable[[str], QuestionGenerator]) -> Lesson:
        """A regular lesson."""
        fields = self.fields
        self.read_scenes()
        self.read_questions()
        asked, guessed = fields.pop_strings("ask") or ("main",), fields.pop("say", str, "")
        question, recall = self._named_question(asked[0])[0], fields.pop("recall", str, "")
        first_question = self._named_question(guessed)[0] if guessed else question
        scene = next(iter(self.scenes.values()))
        do_text = self.text(fields.pop("do", str, ""))
        cards: tuple[Card, ...] = (
            Card(CardKind.SAY, self.text(fields.pop("intro", str)), scene, first_question),
            Card(CardKind.DO, do_text, scene, steps=self.read_steps(fields)),
            Card(CardKind.LOOK, self.text(fields.pop("look", str)), scene),
            Card(CardKind.ASK, "", question.scene, generate_question=self._random_question_generator(asked)),
            Card(CardKind.REMEMBER, self.text(fields.pop("remember", str)), scene),
        )
        if recall:
            cards = (Card(CardKind.RECALL, "", scene, generate_question=generator_of(recall)), *cards)
        lesson = Lesson(
            number,
            fields.pop("title", str),
            fields.pop("minutes", int),
            cards,
            fields.pop("goal", str),
            self.scenes,
            self.read_note(),
            fields.pop_strings("terms"),
            fields.pop("hides_listing", bool, False),
            question=question,
            first_question=first_question,
        )
        fields.reject_remaining()
        return lesson

    def read_note(self) -> NoteWriter | None:
        name = self.fields.pop("note", str, "")
        return self._code.notes[name] if name else None

    def read_questions(self) -> None:
        fields = TomlTable(self.fields.pop("questions", dict, {}), f"{self.fields.location}: questions")
        for name in fields.remaining_names():
            table = TomlTable(fields.pop(name, dict), f"{fields.location}.{name}")
            self.questions[name] = self._read_shared_question(table)
            table.reject_remaining()

    def _read_shared_question(self, fields: TomlTable) -> tuple[Question, QuestionGenerator | None]:
        scene = self.read_scene(fields)
        if "answer" not in fields.remaining_names():
            return OpenQuestion(scene, self.text(fields.pop("question", str))), None
        question = self.value_question(fields, scene)
        question = replace(question, hides_listing=fields.pop("hides_listing", bool, False))
        drawn = {"draw", "draw_by"} & {*fields.remaining_names()}
        return question, self.question_generator(fields, question) if drawn else None

    def _named_question(self, name: str) -> tuple[Question, QuestionGenerator | None]:
        return self.questions[name] if name in self.questions else self._code.questions[name]

    def _random_question_generator(self, names: Sequence[str], first_chance: float = 0) -> QuestionGenerator:
        """A generator that asks one of some questions; ``first_chance``: that of the first of two."""
        generators = [generator for _, generator in map(self._named_question, names) if generator is not None]
        if len(generators) == 1:
            return generators[0]
        if first_chance:
            return lambda random: generators[random.random() >= first_chance](random)
        return random_choice_generator(*generators)

    def read_scene(self, fields: TomlTable) -> Scene:
        scene = fields.pop_untyped("scene") if "scene" in fields.remaining_names() else next(iter(self.scenes), "")
        return self.new_scene(TomlTable(scene, fields.location)) if isinstance(scene, dict) else self.scenes[scene]

    def input_generator(self, fields: TomlTable, scene: Scene) -> Callable[[Random], Mapping[str, Any]]:
        if "draw_by" in fields.remaining_names():
            return self._code.inputs[fields.pop("draw_by", str)]
        return super().input_generator(fields, scene)

    def _read_built_in_ask_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        names, models = fields.pop_strings("questions"), fields.pop_strings("models")
        if not names:
            return self._read_ask_card(fields, scene, text)
        if models:
            generator = self._model_generator(fields, names[0], models)
        else:
            generator = self._random_question_generator(names, fields.pop("first_chance", float, 0.0))
        return Card(CardKind.ASK, text, scene, generate_question=generator)

    def _model_generator(self, fields: TomlTable, name: str, models: Sequence[str]) -> QuestionGenerator:
        """A generator that asks a question of one of some models; ``balanced``: each answer is equally likely."""
        question, _ = self.questions[name]
        assert isinstance(question, ValueQuestion)
        variants = [replace(question, scene=replace(question.scene, model=model)) for model in models]
        if not fields.pop("balanced", bool, False):
            draw_inputs = self.input_generator(fields, question.scene)
            return random_choice_generator(*(input_variant_generator(variant, draw_inputs) for variant in variants))

        def draw(random: Random) -> Question:
            by_answer: dict[Any, list[ValueQuestion]] = {}
            for variant in variants:
                by_answer.setdefault(variant.answer, []).append(variant)
            return random.choice(by_answer[random.choice(sorted(by_answer))]).redraw(random, {})

        return draw

    def _read_task_card(self, fields: TomlTable, scene: Scene, text: RunText) -> Card:
        names = fields.pop_strings("questions")
        if names:
            return Card(CardKind.TASK, text, scene, self._named_question(names[0])[0])
        return replace(self._read_ask_card(fields, scene, text), kind=CardKind.TASK)


def _value_generator(table: TomlTable, name: str) -> Callable[[Random], Any]:
    """``[1, 9]``: an integer; ``{ of = [...] }``: a choice; ``{ count = 4, from = [0, 9] }``: 4 distinct integers."""
    rule = table.pop_untyped(name)
    if isinstance(rule, list):
        low, high = _parse_range(table, name, rule)
        return lambda random: random.randint(low, high)
    if not isinstance(rule, dict):
        raise table.error(f"'{name}' is [smallest, largest], {{ of = [...] }}, or {{ count = N, from = [...] }}")
    fields = TomlTable(rule, f"{table.location}.{name}")
    if "of" in rule:
        values = fields.pop("of", list)
        fields.reject_remaining()
        if not values:
            raise fields.error("'of' has no value")
        return lambda random: random.choice(values)
    count = fields.pop("count", int)
    low, high = _parse_range(fields, "from", fields.pop("from", list))
    fields.reject_remaining()
    if not 0 < count <= high - low + 1:
        raise fields.error(f"there are no {count} different numbers from {low} to {high}")
    return lambda random: random.sample(range(low, high + 1), count)


def _parse_range(table: TomlTable, name: str, bounds: list[Any]) -> tuple[int, int]:
    valid = len(bounds) == 2 and all(isinstance(bound, int) and not isinstance(bound, bool) for bound in bounds)
    if not valid or bounds[0] > bounds[1]:
        raise table.error(f"'{name}' is two whole numbers, the smallest and the largest, not {bounds}")
    return bounds[0], bounds[1]
