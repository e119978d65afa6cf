"""An agent that is a script: five hunts for a fault, by the tools of ``loopdbg mcp`` alone."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hunting import HUNTS, Hunt
from loopdbg.tui.cli import serving_agents

#: Calls a tool with arguments by name; gives the answer.
Ask = Callable[..., Awaitable[str]]


def served(**options: Any) -> Any:
    """The server that the command line would run; ``options``: ``allow_write``, ``trust_script``."""
    made: list[Any] = []

    class Served:
        def run(self, transport: str) -> None:
            assert transport == "stdio"

    def server(agent: Any) -> Any:
        made.append(serve(agent))
        return Served()

    serve = serving_agents.server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving_agents, "server", server)
        assert serving_agents.run(argparse.Namespace(**{"allow_write": None, "trust_script": False, **options})) == 0
    return made[0]


@dataclass(frozen=True)
class AgentHunt:
    """``hunt``: its files, in the folder where the server runs; ``calls``: tools with their arguments; ``answer``: what
    the last of them tells."""

    hunt: Hunt
    calls: Sequence[tuple[str, dict[str, Any]]]
    answer: Sequence[str]

    def build(self, folder: Path) -> None:
        """Write the files."""
        self.hunt.build(folder)

    async def go(self, ask: Ask) -> list[str]:
        """All answers."""
        return [await ask(tool, **arguments) for tool, arguments in self.calls]


def _compared(hunt: Hunt) -> AgentHunt:
    _, _, a, b = shlex.split(hunt.commands[0])[:4]
    return AgentHunt(hunt, [("diff", {"a": a, "b": b})], hunt.answer)


def _nan() -> AgentHunt:
    """From what is seen, NaN, back to where it arises."""
    calls = [
        ("open", {"path": "descent.onnx"}),
        ("set_breakpoint", {"place": "nan"}),
        ("continue_run", {}),
        ("print_value", {"expression": "left"}),
    ]
    hunt = next(one for one in HUNTS if one.fault.startswith("NaN"))
    return AgentHunt(hunt, calls, ["-3.8146973e-06"])


AGENT_HUNTS = (*(_compared(HUNTS[k]) for k in (0, 4, 8, 17)), _nan())
