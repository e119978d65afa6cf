"""A question as it is put to a learner: with numbers of its own, answered once, and open to be looked at after that."""

from __future__ import annotations

from ...runtime.errors import UsageError
from .lesson import Card, Kind
from .question import OpenQuestion, Question, Reply, StateQuestion, ValueQuestion, show
from .stand import Stand


class Asked:
    """The question of a card that is open; ``card``: which one."""

    def __init__(self, card: Card, question: Question) -> None:
        self.card = card
        self.question = question
        #: It was answered right.
        self.right = False
        #: Its answer is known: no other one is taken.
        self.spent = False
        self._hints = 0
        #: What was said of the state last, which is not said twice.
        self._said: str | None = None

    @property
    def still(self) -> bool:
        """Its scene does not run: that would give the answer away."""
        return self.card.kind.judged and self.question.still and not self.spent

    @property
    def covered(self) -> bool:
        """The listing would give the answer away."""
        return self.still and self.question.covered

    def guess(self, text: str) -> str:
        """What is kept of a guess.

        Raises:
            UsageError: there is none, or it cannot be read.
        """
        if not text:
            raise UsageError("say what you think, as in answer 5; it is kept, and not judged")
        return show(self.question.read(text)) if isinstance(self.question, ValueQuestion) else text

    def answer(self, text: str, stand: Stand) -> Reply:
        """What is said to an answer, or to one who says that this is the place.

        Raises:
            UsageError: it cannot be read, or the question was answered.
        """
        if self.spent and self.question.once:
            more = "again asks with other numbers" if self.card.again else "card goes on"
            raise UsageError(f"this question is answered; {more}")
        question = self.question
        if isinstance(question, OpenQuestion):
            return self._judged(Reply(True, "You have looked; nobody else can check it."))
        if isinstance(question, StateQuestion):
            reply = question.look(stand)
            return self._judged(reply or Reply(False, f"Not {'here' if question.claimed else 'yet'}. {question.see}"))
        if not text:
            raise UsageError("answer what? as in answer 5")
        return self._judged(question.judge(text))

    def seen(self, stand: Stand) -> Reply | None:
        """What is said of a state that was tried and reached, or nearly; None: nothing new."""
        question = self.question
        if not isinstance(question, StateQuestion) or question.claimed or self.right or self.card.kind is Kind.SAY:
            return None
        reply = question.look(stand)
        if reply is None or reply.text == self._said:
            self._said = None if reply is None else self._said
            return None
        self._said = reply.text
        return self._judged(reply) if reply.right else reply

    def _judged(self, reply: Reply) -> Reply:
        self.right = self.right or reply.right
        self.spent = self.spent or self.question.once or reply.right
        return reply

    def hint(self) -> tuple[str, bool]:
        """The next hint, and whether it tells the answer, after which none is taken."""
        told, last = self.question.hint(self._hints), self.question.tells(self._hints)
        self._hints += 1
        self.spent = self.spent or (last and self.question.once)
        return told, last

    def moved(self) -> None:
        """Another session is open: what was said of the one before can be said again."""
        self._said = None
