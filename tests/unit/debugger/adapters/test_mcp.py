"""The Model Context Protocol: an agent that is a script, through the client of the protocol's own library."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_hunts import AGENT_HUNTS, AgentHunt, served
from loopdbg.debugger.adapters.mcp.agent import MOST
from models import SAMPLES

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
GIVEN = {"a": 2, "tol": 1e-6}


@pytest.fixture
def server() -> Any:
    return served()


async def ask(client: Any, tool: str, **arguments: Any) -> str:
    """A tool's answer, or its error after ``error:``."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in result.content)
    assert len(text) < MOST + 200
    return f"error: {text}" if result.is_error else text


async def test_tools(server: Any) -> None:
    async with mcp.Client(server) as client:
        tools = (await client.list_tools()).tools
        names = {tool.name for tool in tools}
        assert {
            "open",
            "explain",
            "step",
            "continue_run",
            "back",
            "set_breakpoint",
            "print_value",
            "why",
            "diff",
            "extract",
        } <= names
        assert all(tool.description for tool in tools)
        assert "nothing is open" in await ask(client, "why")
        told = await ask(client, "open", path=NEWTON, inputs=GIVEN)
        assert "before iteration 0 of loop 'sqrt'" in told and "input a: float32[]" in told and "next:" in told
        assert "while" in await ask(client, "explain")
        assert "before iteration 2" in await ask(client, "step", count=2)
        assert "1.4166667" in await ask(client, "print_value", expression="x")
        assert "▶" in await ask(client, "step", unit="node")
        assert "err_new" in await ask(client, "why")
        assert "before iteration 1" in await ask(client, "go_to", iteration=1)
        assert "branch 2" in await ask(client, "set_value", target="x", value="100.0")
        assert "breakpoint 1" in await ask(client, "set_breakpoint", place="if err < 0.1")
        assert "breakpoint 1" in await ask(client, "continue_run")
        assert await ask(client, "clear_breakpoints") == "no breakpoints"
        assert "ran to its end" in await ask(client, "continue_run")
        assert "ends after 12 iterations" in await ask(client, "back")
        assert "error:" in await ask(client, "print_value", expression="nothing + 1")
        assert "no such file" in await ask(client, "open", path="nowhere.onnx")


async def test_resources(server: Any) -> None:
    async with mcp.Client(server) as client:
        await ask(client, "open", path=NEWTON, inputs=GIVEN)
        await ask(client, "step", count=3)
        source = (await client.read_resource("loopdbg://source")).contents[0].text
        assert "err_new" in source
        history = (await client.read_resource("loopdbg://history/x")).contents[0].text
        assert history.splitlines()[:2] == ["0: 2.0", "1: 1.5"]


async def test_nothing_is_written_or_run_unasked(server: Any, tmp_path: Path) -> None:
    async with mcp.Client(server) as client:
        await ask(client, "open", path=NEWTON, inputs=GIVEN)
        for line in (
            f"save {tmp_path / 'a.onnx'}",
            f"source {tmp_path / 'a'}",
            f"plot {tmp_path / 'a.png'}",
            f"extract {tmp_path}",
        ):
            assert "this server may not" in await ask(client, "command", line=line)
        assert "this server may not" in await ask(client, "extract", folder=str(tmp_path / "part"))
        assert not list(tmp_path.iterdir())
        assert "--trust-script" in await ask(client, "open", path=str(SAMPLES / "trt" / "halving.py"))
        assert "makes no sense here" in await ask(client, "command", line="quit")
        assert "iteration" in await ask(client, "command", line="info frame")


@pytest.mark.parametrize("hunt", AGENT_HUNTS, ids=[one.hunt.fault.partition(":")[0] for one in AGENT_HUNTS])
async def test_hunts(server: Any, hunt: AgentHunt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that has the tools alone finds what is wrong."""
    hunt.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    async with mcp.Client(server) as client:
        answers = await hunt.go(functools.partial(ask, client))
    assert all(part in answers[-1] for part in hunt.answer)
    assert not [one for one in answers if one.startswith("error:")]


async def test_over_stdio() -> None:
    parameters = mcp.StdioServerParameters(command=sys.executable, args=["-m", "loopdbg", "mcp"])
    async with mcp.Client(parameters) as connected:
        assert "opened newton_sqrt.onnx" in await ask(connected, "open", path=NEWTON, inputs=GIVEN)
