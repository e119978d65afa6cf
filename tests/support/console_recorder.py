"""A console that records its output."""

from __future__ import annotations

from typing import Any

import loopdbg
from loopdbg.debugger.frontends.console.console import Console


class ConsoleRecorder:
    """The console on a session or a recording, into which tests type."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.output_lines: list[str] = []
        self.console = Console(session, self.output_lines.append)

    def __call__(self, *lines: str) -> list[str]:
        """The output of some lines; an error is a line as at the prompt."""
        self.output_lines.clear()
        for line in lines:
            try:
                self.console.execute(line)
            except loopdbg.LoopdbgError as error:
                self.output_lines.append(f"error: {error}")
        assert all("\n" not in line for line in self.output_lines)
        return list(self.output_lines)

    def stop_after(self, *lines: str) -> loopdbg.Stop:
        """The stop to which some lines lead."""
        self(*lines)
        stop: loopdbg.Stop = self.session.stop
        return stop

    def last_line(self, *lines: str) -> str:
        """The last line of the output of some lines."""
        return self(*lines)[-1]
