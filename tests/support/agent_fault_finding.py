"""A scripted agent: five fault-finding scenarios that use only the tools of ``loopdbg mcp``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fault_finding import FAULT_SCENARIOS, FaultScenario
from loopdbg.tui.cli.servers import mcp_server

#: Calls a tool by name with arguments; returns the answer.
Ask = Callable[..., Awaitable[str]]


def connect_to_server(**options: Any) -> Any:
    """A connection to the server that the command line would run; ``options``: ``allow_write``, ``trust_script``."""
    items: list[Any] = []

    class Served:
        def run(self, transport: str) -> None:
            assert transport == "stdio"

    def server(agent: Any) -> Any:
        items.append(serve(agent))
        return Served()

    serve = mcp_server.create_server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcp_server, "create_server", server)
        assert (
            mcp_server.run_mcp_server(argparse.Namespace(**{"allow_write": None, "trust_script": False, **options}))
            == 0
        )
    return items[0]


@dataclass(frozen=True)
class AgentFaultScenario:
    """A scenario. ``hunt``: its files, in the folder where the server runs; ``calls``: tools with their arguments;
    ``answer``: what the last answer contains."""

    scenario: FaultScenario
    calls: Sequence[tuple[str, dict[str, Any]]]
    expected_answer: Sequence[str]

    def build(self, folder: Path) -> None:
        """Write the files."""
        self.scenario.build(folder)

    async def run(self, ask: Ask) -> list[str]:
        """Make all calls; returns the answers."""
        return [await ask(tool, **arguments) for tool, arguments in self.calls]


def _diff_scenario(hunt: FaultScenario) -> AgentFaultScenario:
    _, _, a, b = shlex.split(hunt.commands[0])[:4]
    return AgentFaultScenario(hunt, [("diff", {"a": a, "b": b})], hunt.expected_output)


def _nan_scenario() -> AgentFaultScenario:
    """From the visible NaN back to its origin."""
    calls = [
        ("open", {"path": "descent.onnx"}),
        ("set_breakpoint", {"place": "nan"}),
        ("continue_run", {}),
        ("print_value", {"expression": "left"}),
    ]
    hunt = next(scenario for scenario in FAULT_SCENARIOS if scenario.fault.startswith("NaN"))
    return AgentFaultScenario(hunt, calls, ["-3.8146973e-06"])


AGENT_FAULT_SCENARIOS = (*(_diff_scenario(FAULT_SCENARIOS[k]) for k in (0, 4, 8, 17)), _nan_scenario())
