"""A question asked of a learner: its attempts, hints and result."""

from __future__ import annotations

from ...runtime.errors import UsageError
from .lesson import Card, CardKind
from .question import Feedback, OpenQuestion, Question, StateQuestion, ValueQuestion, format_answer
from .session_queries import LearnerState


class QuestionInstance:
    """The drawn question of an open card."""

    def __init__(self, card: Card, question: Question) -> None:
        self.card = card
        self.question = question
        #: It was answered correctly.
        self.solved = False
        #: The answer is known: no further answer is accepted.
        self.answer_known = False
        self._hint_count = 0
        #: The last feedback on the state, which is not repeated.
        self._last_feedback: str | None = None

    @property
    def locks_scene(self) -> bool:
        """Whether the scene is locked, as running it would reveal the answer."""
        return self.card.kind.graded and self.question.locks_scene and not self.answer_known

    @property
    def hides_listing(self) -> bool:
        """Whether the listing would reveal the answer."""
        return self.locks_scene and self.question.hides_listing

    def parse_guess(self, text: str) -> str:
        """Parse a guess for saving.

        Raises:
            UsageError: the guess is empty, or cannot be parsed.
        """
        if not text:
            raise UsageError("say what you think, as in answer 5; it is kept, and not judged")
        return format_answer(self.question.parse_answer(text)) if isinstance(self.question, ValueQuestion) else text

    def answer(self, text: str, state: LearnerState) -> Feedback:
        """Grade an answer, or the claim that the state is reached.

        Raises:
            UsageError: the answer cannot be parsed, or the question was answered.
        """
        if self.answer_known and self.question.single_attempt:
            remedy = "again asks with other numbers" if self.card.can_redraw else "card goes on"
            raise UsageError(f"this question is answered; {remedy}")
        question = self.question
        if isinstance(question, OpenQuestion):
            return self._record(Feedback(True, "You have looked; this is not checked."))
        if isinstance(question, StateQuestion):
            reply = question.check_state(state)
            return self._record(
                reply
                or Feedback(False, f"Not {'here' if question.requires_claim else 'yet'}. {question.fallback_text}")
            )
        if not text:
            raise UsageError("answer what? as in answer 5")
        return self._record(question.grade(text))

    def grade_state(self, state: LearnerState) -> Feedback | None:
        """Feedback on the current state; None if there is nothing new."""
        question = self.question
        if (
            not isinstance(question, StateQuestion)
            or question.requires_claim
            or self.solved
            or self.card.kind is CardKind.SAY
        ):
            return None
        reply = question.check_state(state)
        if reply is None or reply.text == self._last_feedback:
            self._last_feedback = None if reply is None else self._last_feedback
            return None
        self._last_feedback = reply.text
        return self._record(reply) if reply.correct else reply

    def _record(self, reply: Feedback) -> Feedback:
        self.solved = self.solved or reply.correct
        self.answer_known = self.answer_known or self.question.single_attempt or reply.correct
        return reply

    def next_hint(self) -> tuple[str, bool]:
        """The next hint, and whether it reveals the answer, after which no answer is accepted."""
        hint, is_last = self.question.hint(self._hint_count), self.question.reveals_answer(self._hint_count)
        self._hint_count += 1
        self.answer_known = self.answer_known or (is_last and self.question.single_attempt)
        return hint, is_last

    def reset_feedback(self) -> None:
        """Allow feedback to repeat in a new session."""
        self._last_feedback = None
