"""A console that remembers what it stated."""

from __future__ import annotations

from typing import Any

import loopdbg
from loopdbg.debugger.frontends.console.console import Console


class ConsoleRecorder:
    """The console on a session, or on a recording, for tests to type into."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.output_lines: list[str] = []
        self.console = Console(session, self.output_lines.append)

    def __call__(self, *lines: str) -> list[str]:
        """What some lines say; an error as a line like that of the prompt."""
        self.output_lines.clear()
        for line in lines:
            try:
                self.console.execute(line)
            except loopdbg.LoopdbgError as error:
                self.output_lines.append(f"error: {error}")
        assert all("\n" not in line for line in self.output_lines)
        return list(self.output_lines)

    def last_line(self, *lines: str) -> str:
        """The last line that they say."""
        return self(*lines)[-1]
