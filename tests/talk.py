"""A console that remembers what it said."""

from __future__ import annotations

from typing import Any

import loopdbg
from loopdbg.debugger.console.console import Console


class Talk:
    """The console on a session, or on a recording, for tests to type into."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.said: list[str] = []
        self.console = Console(session, self.said.append)

    def __call__(self, *lines: str) -> list[str]:
        """What some lines say; an error as a line like that of the prompt."""
        self.said.clear()
        for line in lines:
            try:
                self.console.execute(line)
            except loopdbg.LoopdbgError as error:
                self.said.append(f"error: {error}")
        assert all("\n" not in line for line in self.said)
        return list(self.said)

    def one(self, *lines: str) -> str:
        """The last line that they say."""
        return self(*lines)[-1]
