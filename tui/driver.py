"""Runs a session's steps in a thread of its own, so that the screen answers whatever the engine does.

Commands go in as words, frozen views come out as messages; nobody else touches the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from textual.message import Message

from ..debugger.console.completion import complete
from ..debugger.console.console import Console, Quit
from ..debugger.session.debuggee import Debuggee
from ..debugger.session.session import Reason, Session, Stop
from ..debugger.session.underway import Underway
from ..debugger.statistics.history import Evolution
from ..runtime.boundary import Boundary
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.model import Data, Model
from .aside import answer
from .requests import STEPS, BreakpointEdit, Command, Request
from .screen.displayed import SeenDisplays
from .screen.times import SeenTimes
from .screen.view import View, look

#: Steps asked for faster than they are done wait in line, but not more of them than this.
_WAITING = 8


@dataclass(frozen=True, eq=False)
class Question:
    """Something to find out of the session where it stands. ``answer`` gets it, or None and what went wrong; it is
    called in the session's thread."""

    find: Callable[[Debuggee], Any]
    answer: Callable[[Any, str | None], object]


#: What the console calls those that a person asks for.
_NAMES = {
    Command.STEP: "step",
    Command.NODE: "next",
    Command.INTO: "into",
    Command.FINISH: "finish",
    Command.CONTINUE: "continue",
    Command.RESTART: "restart",
    Command.BACK: "back",
    Command.BACK_NODE: "back-node",
    Command.BACK_ON: "reverse-continue",
}


@dataclass(frozen=True)
class Progress:
    """How far a running command is: seconds so far, the iterations of each loop by path, how many a second they all do
    lately, what the values of each loop were, and where it stood."""

    command: Request
    seconds: float
    iterations: Mapping[str, int]
    rate: float = 0.0
    lately: Mapping[str, Evolution] = field(default_factory=dict)
    underway: Mapping[str, Underway] = field(default_factory=dict)


class Stopped(Message):
    """A command ended; ``error`` is what went wrong, ``view`` None if not even a view could be made.

    ``said``: what the console and logpoints printed meanwhile; ``quits``: the user asked to leave; ``fault``: what is
    wrong with this program, to be raised.
    """

    def __init__(
        self,
        command: Request,
        view: View | None,
        error: str | None = None,
        said: tuple[str, ...] = (),
        quits: bool = False,
        fault: Exception | None = None,
    ) -> None:
        super().__init__()
        self.command = command
        self.view = view
        self.error = error
        self.said = said
        self.quits = quits
        self.fault = fault
        #: The model that the view is of.
        self.model: Model | None = None


class WaitingSession(Session):
    """A session that waits for :meth:`restart` before it runs anything.

    What comes before the first loop can take long or fail, and the screen has to show both: not before it opens.
    """

    _waits = True

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; the first call, by the constructor, does nothing."""
        if self._waits:
            self._waits = False
            return self.stop
        return super().restart(inputs)


class Driver:
    """One session and the thread that drives it. ``post`` gets a :class:`Stopped` for every command, in that thread.

    ``session``: what to drive instead of a run of the model, such as a recording. ``told``: an error's text here.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data],
        max_iterations: int | None,
        session: Debuggee | None = None,
        told: Callable[[LoopdbgError], str] = str,
    ) -> None:
        self.told = told
        self.post: Callable[[Stopped], object] = lambda _: None
        self._past = SeenTimes()
        self._displays = SeenDisplays()
        self._said: list[str] = []
        self.console = Console(
            session or WaitingSession(model, inputs, max_iterations=max_iterations), self._said.append
        )
        self._completer = self.console.completer()
        #: Guards everything below.
        self._changed = threading.Condition()
        self._waiting: list[Request | Question] = []
        self._running: Request | Question | None = None
        self._since = 0.0
        self._closed = False
        #: So many commands have ended.
        self.stops = 0
        #: When the progress was asked for last, and what it was.
        self._seen = (0.0, 0)
        # A daemon: a single node that takes minutes can't be interrupted, and must not keep the program alive.
        self._thread = threading.Thread(target=self._work, name="loopdbg-driver", daemon=True)
        self._thread.start()

    @property
    def _session(self) -> Debuggee:
        """What is driven; a console can open something else."""
        return self.console.session

    @property
    def model(self) -> Model:
        """The model of the session."""
        return self._session.model

    @property
    def session(self) -> Debuggee:
        """The session, for tests: to be read while the driver is not :attr:`busy`."""
        return self._session

    @property
    def busy(self) -> bool:
        """True while a command runs or waits."""
        with self._changed:
            return self._running is not None or bool(self._waiting)

    @property
    def commanded(self) -> bool:
        """True while a command runs or waits that will end with a :class:`Stopped`: a question does not."""
        with self._changed:
            return any(c is not None and not isinstance(c, Question) for c in (self._running, *self._waiting))

    def complete(self, line: str) -> tuple[int, list[str]]:
        """Where the last word of a line for the console begins, and what it can become, as of the last stop."""
        return complete(self._completer, line)

    def aside(self, line: str) -> list[str] | None:
        """What a line says that needs no stop, such as ``help`` or ``info breakpoints``, while something runs; None for
        any other.

        Raises:
            UsageError: the line makes no sense.
        """
        return answer(line, self.console)

    def ask(self, command: Request) -> bool:
        """Run a command, or a line in the console, once those before it are done; False where another one runs.

        What comes while steps run waits in line; while something longer runs only a restart is taken, and interrupts.
        """
        with self._changed:
            if command is Command.RESTART:
                self._stop()
            ahead = [c for c in (self._running, *self._waiting) if c is not None and not isinstance(c, Question)]
            if command is not Command.RESTART and (not STEPS.issuperset(ahead) or len(ahead) > _WAITING):
                return False
            self._waiting.append(command)
            self._changed.notify()
        return True

    def find_out(self, question: Question) -> bool:
        """Answer a question once what runs is done; False where that may take long."""
        with self._changed:
            if not all(isinstance(one, Question) or one in STEPS for one in (self._running, *self._waiting) if one):
                return False
            self._waiting.append(question)
            self._changed.notify()
        return True

    def refusal(self, what: str) -> str:
        """Why something is not possible here, such as in a recording, and what can be done about it."""
        try:
            self._session._inside.refuse(what)
        except UsageError as problem:
            return self.told(problem)

    def select(self, number: int) -> bool:
        """Let commands be about a frame, 0 the innermost; False where something runs.

        Raises:
            UsageError: the stack has no such frame.
        """
        with self._changed:
            if self._running is not None or self._waiting:
                return False
            before = self.console.selected
            self.console.select(number)
            self.console.did("up" if number > before else "down")
            self._completer = self.console.completer()
        return True

    def find_displays(self, answer: Callable[[Any, str | None], object]) -> bool:
        """Ask for the displays in the frame that commands are about; see :class:`Question`. False where something runs
        that may take long."""
        return self.find_out(Question(lambda _: self._displays.look(self.console), answer))

    def interrupt(self) -> None:
        """Stop what runs at its next boundary, and forget what waits."""
        with self._changed:
            self._stop()

    def progress(self) -> Progress | None:
        """How far the running command is; None while none runs."""
        with self._changed:
            command, since = self._running, self._since
        if command is None or isinstance(command, Question):
            self._seen = (0.0, 0)
            return None
        now, iterations = time.monotonic(), self._session.progress
        count = sum(iterations.values())
        before, counted = self._seen
        rate = (count - counted) / (now - before) if before > since and now > before else 0.0
        self._seen = (now, count)
        return Progress(command, now - since, iterations, max(0.0, rate), self._session.lately, self._session.underway)

    def close(self, timeout: float = 1.0) -> None:
        """End the thread; what runs is interrupted. Returns after ``timeout`` seconds at the latest."""
        with self._changed:
            self._closed = True
            self._stop()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _is_closed(self) -> bool:
        return self._closed

    def _stop(self) -> None:
        self._waiting.clear()
        if self._running is not None:
            self._session.interrupt()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closed():
                    self._changed.wait()
                if self._is_closed():
                    return
                command = self._running = self._waiting.pop(0)
                self._since = time.monotonic()
            if isinstance(command, Question):
                self._answer(command)
                continue
            try:
                message = self._do(command)
            except Exception as fault:
                # Not hidden here, where nobody sees it: who shows what comes from this thread raises it.
                message = Stopped(command, None, fault=fault)
            message.model = self.model
            with self._changed:
                self._running = None
                self.stops += 1
                if message.error is not None:
                    # Steps asked for before their sight would run into it again.
                    self._waiting = [c for c in self._waiting if c is Command.RESTART]
                open_still = not self._is_closed()
            if open_still:
                self.post(message)

    def _answer(self, question: Question) -> None:
        found, error, fault = None, None, None
        try:
            with Boundary():
                found = question.find(self._session)
        except LoopdbgError as problem:
            error = self.told(problem)
        except Exception as problem:
            fault = problem
        with self._changed:
            self._running = None
            open_still = not self._is_closed()
        if fault is None and open_still:
            try:
                question.answer(found, error)
            except Exception as problem:
                fault = problem
        if fault is not None and open_still:
            self.post(Stopped(Command.START, None, fault=fault))

    def _do(self, command: Request) -> Stopped:
        error = None
        quits = False
        before, inputs = self._session.stop, self._session.inputs
        try:
            with Boundary():
                self._run(command)
        except LoopdbgError as problem:
            error = self.told(problem)
        except Quit:
            quits = True
        if self._session.inputs is not inputs:
            # Another run began.
            self._past.clear()
            self._displays.clear()
        stop = self._session.stop
        if error is None and stop.reason is Reason.ERROR and stop is not before:
            error = stop.text
        said = tuple(self._said)
        self._said.clear()
        try:
            with Boundary():
                self._completer = self.console.completer()
                self.console.selected_frame()
                shown = look(self._session, self._past, self.console.selected, self._displays.look(self.console))
            return Stopped(command, shown, error, said, quits)
        except LoopdbgError as problem:
            return Stopped(command, None, error or self.told(problem), said, quits)

    def _run(self, command: Request) -> None:
        session = self._session
        if isinstance(command, BreakpointEdit):
            self.console.edit_breakpoint(command.number, command.condition, command.ignore, command.commands)
            return
        if not isinstance(command, Command):
            self.console.execute(command)
            return
        match command:
            case Command.START | Command.RESTART:
                self._past.clear()
                session.restart()
            case Command.STEP:
                session.step()
            case Command.NODE:
                session.next_node()
            case Command.INTO:
                session.into()
            case Command.FINISH:
                session.finish()
            case Command.CONTINUE:
                session.continue_()
            case Command.BACK:
                session.back()
            case Command.BACK_NODE:
                session.back_node()
            case Command.BACK_ON:
                session.reverse_continue()
        # Even where it led to where it stood: a step is shown in the innermost frame.
        self.console.select(0)
        if command in _NAMES:
            self.console.did(_NAMES[command])
        self.console.follow(session.stop)
