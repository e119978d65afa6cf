"""``loopdbg learn``: lessons on loops, in the screen or as plain text."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from .. import config
from . import terminal
from .command import Command

if TYPE_CHECKING:
    from ...debugger.lessons.learner import Learner
    from ...debugger.lessons.progress import Progress
    from ...debugger.lessons.scene import Scene


class Learn(Command):
    """Opens a lesson: the first one that is not done."""

    name = "learn"
    summary = """\
Lessons on the loops inside model files, for whoever never saw one: twelve, one
hour, nothing to read before. What is done is kept."""
    examples = """\
  loopdbg learn            the first lesson that is not done
  loopdbg learn 6          lesson 6; nothing is locked
  loopdbg learn 3 --text   as plain text; without a terminal it is that anyway

In a lesson: answer X, hint, again, scene B, card [N], lesson [N], and every
command of the debugger. An empty line goes on to the next card."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("lesson", metavar="N", nargs="?", help="the lesson (13: what comes after the hour)")
        parser.add_argument("--list", action="store_true", help="list the lessons, and which are done")
        parser.add_argument("--text", action="store_true", help="plain text instead of the screen; answers from stdin")
        parser.add_argument("--reset", action="store_true", help="forget what is done")

    def run(self, options: argparse.Namespace) -> int:
        from ...debugger.lessons.progress import Progress

        progress = Progress(config.folder() / "lessons.json")
        if options.reset:
            progress.forget()
            terminal.out(progress.trouble or "what was done is forgotten")
            if options.lesson is None and not options.list:
                return 0
        if options.list:
            _list(progress)
            return 0
        number = _number(options.lesson)
        if options.text or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return _text(progress, number)
        terminal.prepare_screen()
        from ...debugger.lessons.learner import Learner
        from ...debugger.lessons.voice import Voice
        from .screen import learn_app

        return learn_app(Learner(progress, Voice({}, against, learn_again), number=number))


def _number(text: str | None) -> int | None:
    """The lesson that was asked for.

    Raises:
        UsageError: there is none of that number.
    """
    from ...debugger.lessons.course.table import ALL

    if text is None:
        return None
    if not text.isdecimal() or int(text) not in ALL:
        raise UsageError(f"learn takes a lesson from 1 to {max(ALL)}, not '{text}'; --list lists them")
    return int(text)


def _list(progress: Progress) -> None:
    from ...debugger.lessons.course.table import ALL

    for number, lesson in ALL.items():
        mark = "✓" if number in progress.done else "…" if progress[number].card else " "
        terminal.out(f"{mark} {number:>2}  {lesson.title} ({lesson.minutes} min)")
    if progress.trouble:
        terminal.err(f"loopdbg: {progress.trouble}")


def against(scene: Scene, peer: str) -> str:
    """How a scene is compared with another runtime."""
    path = os.path.relpath(scene.path)
    return f"`loopdbg diff {path if len(path) < len(str(scene.path)) else scene.path} --against {peer}`"


def learn_again(number: int) -> str:
    """How a lesson is opened another day."""
    return f"loopdbg learn {number}"


def _text(progress: Progress, number: int | None) -> int:
    """A lesson as plain text."""
    from ...debugger.console.console import Console, Quit
    from ...debugger.lessons.learner import Learner
    from ...debugger.lessons.voice import IN_WORDS, Voice
    from .scripted import prompt

    learner = Learner(progress, Voice(IN_WORDS, against, learn_again), attended=sys.stdin.isatty(), number=number)
    console = Console(learner.session(), terminal.out)
    learner.attach(console)
    console.on_stop = lambda stop: _frame(learner)
    learner.turned = lambda: _card(learner)
    learner.changed = _done
    learner.opened = lambda: _listing(learner)
    if progress.trouble:
        terminal.err(f"loopdbg: {progress.trouble}")
    _listing(learner)
    _card(learner)
    try:
        prompt(console, "(lesson) ", "card")
    except Quit as quit_:
        return quit_.status
    return 0


def _card(learner: Learner) -> None:
    terminal.out("")
    terminal.out(f"{learner.title}   {learner.heading}")
    for line in learner.lines():
        terminal.out(f"  {line}")
    terminal.out("")


def _done(steps: Sequence[str]) -> None:
    for line in steps:
        terminal.out(f"  {line}")


def _frame(learner: Learner) -> None:
    """What the panes of the screen show at a stop."""
    from ...debugger.console.report import frame_lines

    for line in frame_lines(learner.console.session.frame):
        terminal.out(line)


def _listing(learner: Learner) -> None:
    from ...debugger.session.listed import listed

    console, session = learner.console, learner.console.session
    if learner.covered:
        terminal.out("(the listing is covered until you have guessed)")
        return
    source, frame = session._inside.places.source, console.selected_frame()
    shown = listed(source, frame, session.breakpoints, "all", running=not session.done, quiet=learner.quiet)
    for line in shown.lines():
        terminal.out(line)
