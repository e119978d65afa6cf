"""``loopdbg learn``: lessons on loops, in the screen or as plain text."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from ... import config
from .. import terminal
from ..command import Command

if TYPE_CHECKING:
    from ....debugger.lessons.learner import Learner
    from ....debugger.lessons.lesson import Course
    from ....debugger.lessons.progress import LearnerProgress
    from ....debugger.lessons.scene import Scene


class LearnCommand(Command):
    """Opens a lesson, by default the first unfinished one; or exports the course."""

    name = "learn"
    summary = """\
Lessons on the loops inside model files, for whoever never saw one: twelve in an
hour, then practice and a quiz. Questions have other numbers each time. What is
done is kept."""
    examples = """\
  loopdbg learn            the first lesson that is not done
  loopdbg learn 6          lesson 6; nothing is locked
  loopdbg learn 3 --text   as plain text; without a terminal it is that anyway
  loopdbg learn DIR        a course of your own (docs/lessons.md: its format)
  loopdbg learn --export html pages    all lessons as pages for a class

In a lesson: answer X, hint, again, scene B, card [N], lesson [N], and every
command of the debugger. An empty line goes on to the next card."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", metavar="[DIR] [N]", nargs="*", help="a folder with a course; the lesson")
        parser.add_argument("--list", action="store_true", help="list the lessons, and which are done")
        parser.add_argument("--text", action="store_true", help="plain text instead of the screen; answers from stdin")
        parser.add_argument("--reset", action="store_true", help="forget what is done")
        parser.add_argument("--seed", metavar="N", type=int, help="the same numbers in the questions as with N before")
        parser.add_argument(
            "--export", nargs=2, metavar=("html", "DIR"), help="write the course as pages that need no network"
        )

    def run(self, options: argparse.Namespace) -> int:
        course, number = _parse_request(options.what)
        if options.export is not None:
            return _export_course(course, options.export, options.seed)
        from ....debugger.lessons.progress import LearnerProgress

        progress = LearnerProgress(
            config.config_folder() / f"{'lessons' if course.name == 'loops' else course.name}.json"
        )
        if options.reset:
            progress.reset()
            terminal.out(progress.storage_error or "what was done is forgotten")
            if not options.what and not options.list:
                return 0
        if options.list:
            _list_lessons(progress, course)
            return 0
        from ....debugger.lessons.key_wording import CONSOLE_KEY_NAMES, KeyWording
        from ....debugger.lessons.learner import Learner

        in_text = options.text or not (sys.stdin.isatty() and sys.stdout.isatty())
        if not in_text:
            terminal.prepare_screen()
        learner = Learner(
            progress,
            KeyWording(CONSOLE_KEY_NAMES if in_text else {}, compare_command_text, lesson_command_text),
            attended=not in_text or sys.stdin.isatty(),
            number=number,
            random=Random(options.seed),
            course=course,
        )
        if in_text:
            return _run_text_lessons(learner)
        from ..app_launcher import run_lesson_app

        return run_lesson_app(learner)


def _parse_request(words: Sequence[str]) -> tuple[Course, int | None]:
    """The requested course and lesson.

    Raises:
        UsageError: There is no such lesson or course.
    """
    from ....debugger.lessons.course.catalog import COURSE

    course, args = COURSE, list(words)
    if args and not args[0].lstrip("-").isdecimal():
        from ....debugger.lessons.course_reader import read_course

        course = read_course(Path(args.pop(0)))
    if len(args) > 1:
        raise UsageError(f"learn takes a folder and the number of a lesson, not '{' '.join(words)}'")
    if not args:
        return course, None
    if not args[0].isdecimal() or int(args[0]) not in course.lessons:
        lowest, highest = min(course.lessons), course.highest_lesson_number
        raise UsageError(f"learn takes a lesson from {lowest} to {highest}, not '{args[0]}'; --list lists them")
    return course, int(args[0])


def _list_lessons(progress: LearnerProgress, course: Course) -> None:
    for number, lesson in course.lessons.items():
        mark = "✓" if number in progress.done_lessons else "…" if progress[number].card else " "
        terminal.out(f"{mark} {number:>2}  {lesson.title} ({lesson.minutes} min)")
    if progress.storage_error:
        terminal.err(f"loopdbg: {progress.storage_error}")


def _export_course(course: Course, target: Sequence[str], seed: int | None) -> int:
    """Export a course as HTML pages.

    Raises:
        UsageError: The format is unknown, or the folder cannot be written.
    """
    form, folder = target
    if form != "html":
        raise UsageError(f"--export writes html, not '{form}': --export html DIR")
    from ....debugger.lessons.html_pages import write_course

    pages = write_course(course, Path(folder), 1 if seed is None else seed)
    terminal.out(f"wrote {len(pages)} pages: {pages[0]} is the first")
    return 0


def compare_command_text(scene: Scene, peer: str) -> str:
    """The command that compares a scene with another runtime."""
    path = os.path.relpath(scene.path)
    return f"`loopdbg diff {path if len(path) < len(str(scene.path)) else scene.path} --against {peer}`"


def lesson_command_text(number: int) -> str:
    """The command that opens a lesson."""
    return f"loopdbg learn {number}"


def _run_text_lessons(learner: Learner) -> int:
    """Run lessons as plain text."""
    from ....debugger.frontends.console.console import Console, QuitRequest
    from ..execution.scripted_session import run_prompt

    learner.console_width = _text_width()
    console = Console(learner.create_session(), terminal.out)
    learner.attach_console(console)
    console.on_stop = lambda stop: _print_frame(learner)
    learner.on_card_opened = lambda: _print_card(learner)
    learner.on_card_changed = _print_steps
    learner.on_scene_opened = lambda: _print_listing(learner)
    if learner.progress.storage_error:
        terminal.err(f"loopdbg: {learner.progress.storage_error}")
    _print_listing(learner)
    _print_card(learner)
    try:
        run_prompt(console, "(lesson) ", "card")
    except QuitRequest as request:
        return request.status
    return 0


def _text_width() -> int:
    """The width of text: that of the terminal without its margin."""
    return max(shutil.get_terminal_size((80, 24)).columns - 4, 40)


def _print_card(learner: Learner) -> None:
    terminal.out("")
    terminal.out(f"{learner.title}   {learner.heading}")
    for line in learner.open_card_lines(learner.console_width):
        terminal.out(f"  {line}")
    terminal.out("")


def _print_steps(steps: Sequence[str]) -> None:
    for line in steps:
        terminal.out(f"  {line}")


def _print_frame(learner: Learner) -> None:
    """Print the frame at a stop, as the panes of the app show it."""
    if learner.hides_listing:
        return
    from ....debugger.frontends.console.text_output import frame_lines

    for line in frame_lines(learner.console.selected_frame()):
        terminal.out(line)


def _print_listing(learner: Learner) -> None:
    from ....debugger.frame_state import read_frame
    from ....debugger.session.source_listing import list_source

    console, session = learner.console, learner.console.session
    if learner.hides_listing:
        terminal.out("(the listing is covered until there is an answer)")
        return
    source, frame = session.controller.symbols.pseudo_code, read_frame(console.selected_frame().with_references())
    listing = list_source(
        source, frame, session.breakpoints, "all", running=not session.done, quiet=learner.hides_loop_facts
    )
    for line in listing.lines():
        terminal.out(line)
