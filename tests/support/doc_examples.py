"""Executable guides: the examples in their blocks are run, and the output is written back.

The info string of a Markdown block determines how it is run:

* ``console``: lines that begin with ``$ loopdbg`` are command lines, those with ``(loopdbg)`` commands of the session
  that ``loopdbg run MODEL -i`` began; ``$ echo $?`` prints the status of the last command line. Each is followed by
  its output, without the lines on the source of the inputs.
* ``python``: statements; the ``#>`` lines after a statement are its output. A block without any is run, and its output
  is discarded.
* ``text file=NAME``: a file for the examples that follow.
* any other block is left unchanged.

The text between ``<!-- commands -->`` and ``<!-- end -->`` is replaced by the table of all commands.

Blocks of one guide share a folder with the sample models, and its Python blocks share a namespace. Times and sizes that
differ from run to run are replaced by fixed ones.

``python tests/support/doc_examples.py docs/guide.md`` updates the file.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from console_recorder import ConsoleRecorder
from loopdbg.debugger.frontends.console.command_registry import COMMANDS
from loopdbg.debugger.frontends.console.console import QuitRequest
from loopdbg.debugger.session.session import Session
from loopdbg.runtime.model import load
from loopdbg.tui.cli import main

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_models"
_BLOCK = re.compile(r"^```(console|python|text file=(\S+))\n(.*?)^```$", re.S | re.M)
_TABLE = re.compile(r"(<!-- commands -->\n).*?(<!-- end -->)", re.S)
_PROMPT = "(loopdbg) "
#: Texts that differ from run to run, and their replacements.
_VARYING_TEXT = (
    (re.compile(r"\b\d+(\.\d+)?(e[+-]?\d+)? (ns|us|ms|s)\b"), "0.1 ms"),
    (re.compile(r'"seconds": [\d.e+-]+'), '"seconds": 0.0001'),
    (re.compile(r"\b\d+ checkpoints?, [\d.]+ [KMG]?B"), "9 checkpoints, 9.9 KB"),
    (re.compile(r"(recorded \d+ boundaries in \S+), [\d.]+ [KMG]?B"), r"\1, 9.9 KB"),
)


@contextlib.contextmanager
def sample_directory() -> Iterator[Path]:
    """A writable folder with the sample models, which is the working directory in the context."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in SAMPLES.iterdir():
            if path.suffix in (".onnx", ".xml", ".bin", ".npz"):
                (folder / path.name).symlink_to(path)
        # For examples with paths as in a checkout.
        (folder / "sample_models").symlink_to(SAMPLES)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


class ExecutableGuide:
    """One guide; ``run`` returns its text with the current output of its examples."""

    def __init__(self) -> None:
        self.recorder: ConsoleRecorder | None = None
        self.names: dict[str, Any] = {}
        self.status = 0

    def run(self, text: str) -> str:
        """The text with every block run."""
        with sample_directory():
            text = _BLOCK.sub(self._block, text)
        return _TABLE.sub(lambda match: f"{match[1]}\n{command_table()}\n{match[2]}", text)

    def _block(self, match: re.Match[str]) -> str:
        kind, name, body = match.groups()
        if name:
            Path(name).write_text(body, encoding="utf-8")
        elif kind == "console":
            body = self._console(body)
        else:
            body = self._python(body)
        return f"```{kind}\n{body}```"

    def _console(self, text: str) -> str:
        messages = []
        for line in text.splitlines():
            if line.startswith("$ "):
                messages += [line, *self._shell(line[2:])]
            elif line.startswith(_PROMPT):
                messages += [line, *self._type(line[len(_PROMPT) :])]
        return "".join(f"{_normalize_line(line)}\n" for line in messages)

    def _shell(self, line: str) -> list[str]:
        if line == "echo $?":
            return [str(self.status)]
        words = shlex.split(line)
        if words[0] != "loopdbg":
            raise AssertionError(f"the guide runs {words[0]}")
        if words[1] == "run" and words[-1] == "-i":
            return self._begin(words[2])
        # Both streams in one, in the order in which they were written, as a terminal shows them.
        screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            self.status = main(words[1:])
        text = screen.buffer.getvalue().decode()  # type: ignore[attr-defined]
        return [splitline for splitline in text.splitlines() if not splitline.startswith("inputs: ")]

    def _begin(self, name: str) -> list[str]:
        with np.load(Path(name).with_suffix(".inputs.npz")) as file:
            session = Session(load(name), dict(file))
        self.recorder = ConsoleRecorder(session)
        return [session.stop.text]

    def _type(self, line: str) -> list[str]:
        assert self.recorder is not None, "no session was begun"
        try:
            return self.recorder(line)
        except QuitRequest:
            return list(self.recorder.output_lines)

    def _python(self, text: str) -> str:
        messages: list[str] = []
        pending: list[str] = []
        lines = text.splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith("#>"):
                continue
            pending.append(line)
            messages.append(line)
            if after.startswith("#>"):
                messages += self._execute(pending)
                pending = []
        self._execute(pending)
        return "".join(f"{_normalize_line(line)}\n" for line in messages)

    def _execute(self, lines: list[str]) -> list[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n".join(lines), "<guide>", "exec"), self.names)
        return [f"#> {line}" for line in out.getvalue().splitlines()]


def command_table() -> str:
    """All commands of the console, as the rows of a table."""
    rows = ["| command | short | what it does |", "| --- | --- | --- |"]
    for command in COMMANDS.values():
        short = ", ".join(f"`{alias}`" for alias in command.aliases)
        rows.append(f"| `{command.usage}` | {short} | {command.summary} |".replace("  ", " "))
    return "".join(f"{row}\n" for row in rows)


def _normalize_line(line: str) -> str:
    for pattern, written in _VARYING_TEXT:
        line = pattern.sub(written, line)
    return line.rstrip()


def rewrite_guides() -> None:
    """Update guides in place."""
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        path.write_text(ExecutableGuide().run(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    rewrite_guides()
