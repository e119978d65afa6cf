"""A question as it is put to a learner: with numbers of its own, answered once, and open to be looked at after that."""

from __future__ import annotations

from ...runtime.errors import UsageError
from .learner_state import LearnerState
from .lesson import Card, CardKind
from .question import Feedback, OpenQuestion, Question, StateQuestion, ValueQuestion, format_answer


class QuestionInstance:
    """The question of a card that is open; ``card``: which one."""

    def __init__(self, card: Card, question: Question) -> None:
        self.card = card
        self.question = question
        #: It was answered right.
        self.solved = False
        #: Its answer is known: no other one is taken.
        self.answer_known = False
        self._hint_count = 0
        #: What was said of the state last, which is not said twice.
        self._last_feedback: str | None = None

    @property
    def freezes_scene(self) -> bool:
        """Its scene does not run: that would give the answer away."""
        return self.card.kind.graded and self.question.freezes_scene and not self.answer_known

    @property
    def hides_listing(self) -> bool:
        """The listing would give the answer away."""
        return self.freezes_scene and self.question.hides_listing

    def parse_guess(self, text: str) -> str:
        """What is kept of a guess.

        Raises:
            UsageError: there is none, or it cannot be read.
        """
        if not text:
            raise UsageError("say what you think, as in answer 5; it is kept, and not judged")
        return format_answer(self.question.parse_answer(text)) if isinstance(self.question, ValueQuestion) else text

    def answer(self, text: str, stand: LearnerState) -> Feedback:
        """What is said to an answer, or to one who says that this is the place.

        Raises:
            UsageError: it cannot be read, or the question was answered.
        """
        if self.answer_known and self.question.single_attempt:
            more = "again asks with other numbers" if self.card.can_redraw else "card goes on"
            raise UsageError(f"this question is answered; {more}")
        question = self.question
        if isinstance(question, OpenQuestion):
            return self._record(Feedback(True, "You have looked; this is not checked."))
        if isinstance(question, StateQuestion):
            reply = question.check_state(stand)
            return self._record(
                reply
                or Feedback(False, f"Not {'here' if question.requires_claim else 'yet'}. {question.fallback_text}")
            )
        if not text:
            raise UsageError("answer what? as in answer 5")
        return self._record(question.grade(text))

    def check_state(self, stand: LearnerState) -> Feedback | None:
        """What is said of a state that was tried and reached, or nearly; None: nothing new."""
        question = self.question
        if (
            not isinstance(question, StateQuestion)
            or question.requires_claim
            or self.solved
            or self.card.kind is CardKind.SAY
        ):
            return None
        reply = question.check_state(stand)
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
        """The next hint, and whether it tells the answer, after which none is taken."""
        told, last = self.question.hint(self._hint_count), self.question.reveals_answer(self._hint_count)
        self._hint_count += 1
        self.answer_known = self.answer_known or (last and self.question.single_attempt)
        return told, last

    def reset_feedback(self) -> None:
        """Another session is open: what was said of the one before can be said again."""
        self._last_feedback = None
