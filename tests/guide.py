"""Runs the examples of a guide and puts in what they say: the guide is right where nothing changes.

Three kinds of blocks are run, in order, in the folder of the sample models:

* ``console``: ``$ loopdbg ...`` lines are command lines; one that ends in ``-i`` begins a session, into which the
  ``(loopdbg) ...`` lines after it are typed. What follows each is what it prints.
* ``python``: statements; what follows ``#>`` is what the line before printed.
* anything else is left alone.

``python tests/guide.py docs/guide.md`` writes the file anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from loopdbg.debugger.console import Console, Quit
from loopdbg.debugger.session import Session
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.model import load
from loopdbg.tui.cli import main

SAMPLES = Path(__file__).parents[1] / "sample_models"
#: What differs from run to run.
_TIMES = re.compile(r"\b\d+(\.\d+)? (ns|us|ms|s)\b")
_PROMPT = "(loopdbg) "


class Guide:
    """One guide; ``run`` gives it with what its examples say now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.console: Console | None = None
        self.said: list[str] = []
        self.names: dict[str, Any] = {}
        self.status = 0

    def run(self, text: str) -> str:
        """The text with every block run."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return re.sub(r"```(console|python)\n(.*?)```", self._block, text, flags=re.S)
        finally:
            os.chdir(before)

    def _block(self, match: re.Match[str]) -> str:
        body = self._console(match[2]) if match[1] == "console" else self._python(match[2])
        return f"```{match[1]}\n{body}```"

    def _console(self, text: str) -> str:
        told = []
        for line in text.splitlines():
            if line.startswith("$ "):
                told += [line, *self._shell(line[2:])]
            elif line.startswith(_PROMPT):
                told += [line, *self._type(line[len(_PROMPT) :])]
        return "".join(f"{line}\n" for line in told)

    def _shell(self, line: str) -> list[str]:
        if line == "echo $?":
            return [str(self.status)]
        words = shlex.split(line)
        if words[0] != "loopdbg":
            raise AssertionError(f"the guide runs {words[0]}")
        if words[1] == "run" and words[-1] == "-i":
            return self._begin(words[2])
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.status = main(words[1:])
        text = err.getvalue() + out.getvalue()
        return [_TIMES.sub("0.1 ms", one).rstrip() for one in text.splitlines() if not one.startswith("inputs:")]

    def _begin(self, name: str) -> list[str]:
        with np.load(Path(name).with_suffix(".inputs.npz")) as file:
            session = Session(load(name), dict(file))
        self.console = Console(session, self.said.append)
        return [session.stop.text]

    def _type(self, line: str) -> list[str]:
        assert self.console is not None, "no session was begun"
        self.said.clear()
        try:
            self.console.execute(line)
        except LoopdbgError as error:
            self.said.append(f"error: {error}")
        except Quit:
            pass
        return [one.rstrip() for one in self.said]

    def _python(self, text: str) -> str:
        told: list[str] = []
        pending: list[str] = []
        for line in text.splitlines():
            if line.startswith("#> "):
                told += self._execute(pending)
                pending = []
                continue
            pending.append(line)
            told.append(line)
        told += self._execute(pending)
        return "".join(f"{line}\n" for line in told)

    def _execute(self, lines: list[str]) -> list[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec("\n".join(lines), self.names)
        return [f"#> {line}" for line in out.getvalue().splitlines()]


def main_() -> None:
    """Write a guide anew."""
    path = Path(sys.argv[1])
    path.write_text(Guide(SAMPLES).run(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main_()
