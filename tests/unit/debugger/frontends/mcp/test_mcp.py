"""The Model Context Protocol: a scripted agent, through the client of the protocol's own library."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_fault_finding import AGENT_FAULT_SCENARIOS, AgentFaultScenario, connect_to_server
from loopdbg.debugger.frontends.mcp.tools import ANSWER_MAX_CHARS
from text_models import SAMPLES

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
MODEL_INPUTS = {"a": 2, "tol": 1e-6}


@pytest.fixture
def server() -> Any:
    return connect_to_server()


async def ask(client: Any, tool: str, **arguments: Any) -> str:
    """A tool's answer, or its error after ``error:``."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in result.content)
    assert len(text) < ANSWER_MAX_CHARS + 200
    return f"error: {text}" if result.is_error else text


async def test_tools_are_listed_and_answer(server: Any) -> None:
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
        message = await ask(client, "open", path=NEWTON, inputs=MODEL_INPUTS)
        assert "before iteration 0 of loop 'sqrt'" in message and "input a: float32[]" in message and "next:" in message
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


async def test_resources_are_listed_and_read(server: Any) -> None:
    async with mcp.Client(server) as client:
        await ask(client, "open", path=NEWTON, inputs=MODEL_INPUTS)
        await ask(client, "step", count=3)
        source = (await client.read_resource("loopdbg://source")).contents[0].text
        assert "err_new" in source
        history = (await client.read_resource("loopdbg://history/x")).contents[0].text
        assert history.splitlines()[:2] == ["0: 2.0", "1: 1.5"]


async def test_nothing_is_written_or_run_without_permission(server: Any, tmp_path: Path) -> None:
    async with mcp.Client(server) as client:
        await ask(client, "open", path=NEWTON, inputs=MODEL_INPUTS)
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
        assert not list(tmp_path.iterdir())
        assert "makes no sense here" in await ask(client, "command", line="quit")
        assert "iteration" in await ask(client, "command", line="info frame")


async def test_files_are_written_only_in_the_allow_write_folder(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    async with mcp.Client(connect_to_server(allow_write=str(allowed))) as client:
        await ask(client, "open", path=NEWTON, inputs=MODEL_INPUTS)
        assert "wrote" in await ask(client, "extract", folder="part of it")
        assert "wrote" in await ask(client, "extract", folder=str(allowed / "--help"), whole=True)
        assert "drawn into" in await ask(client, "command", line="plot x x.svg")
        for name in ("..", "../b", str(tmp_path / "b")):
            assert "is outside" in await ask(client, "extract", folder=name)
            assert "is outside" in await ask(client, "command", line=f"extract {name}")
    assert sorted(path.name for path in allowed.iterdir()) == ["--help", "part of it", "x.svg"]
    assert [path.name for path in tmp_path.iterdir()] == ["allowed"]


WORDS = (
    "a\0b",
    pytest.param("x" * 5000, id="long"),
    "--help",
    "-h",
    "--trust-script",
    "--version",
    "--against=openvino",
    "--",
    "-",
    "@file",
    "--json\n--help",
)


@pytest.mark.parametrize("word", WORDS)
async def test_agent_text_is_never_parsed_as_an_option(server: Any, word: str, tmp_path: Path) -> None:
    """Each tool gets such text in each argument, and the server keeps answering."""
    script, marker = tmp_path / "net.py", tmp_path / "ran"
    script.write_text(f"open({str(marker)!r}, 'w').close()\n")
    async with mcp.Client(server) as client:
        for a, b in ((word, str(script)), (str(script), word), (NEWTON, word), (word, word)):
            assert "error:" in await ask(client, "diff", a=a, b=b)
        assert "error:" in await ask(client, "diff", a=word, against="openvino")
        assert "error:" in await ask(client, "diff", a=NEWTON, b=NEWTON, inputs={word: word})
        assert "no such file" in await ask(client, "open", path=word)
        for inputs in ({word: 1}, {"a": word}, {"a": 2, "tol": 1, "--trust-script": True}):
            assert "error:" in await ask(client, "open", path=NEWTON, inputs=inputs)
        assert "error:" in await ask(client, "open", path=NEWTON, seed=-1)
        assert "error:" in await ask(client, "open", path=NEWTON, max_iterations=0)
        await ask(client, "open", path=NEWTON, inputs=MODEL_INPUTS)
        for tool, arguments in (
            ("list_source", {"which": word}),
            ("set_breakpoint", {"place": word}),
            ("print_value", {"expression": word}),
            ("set_value", {"target": word, "value": word}),
            ("command", {"line": word}),
            ("extract", {"folder": word}),
        ):
            assert "error:" in await ask(client, tool, **arguments), tool
        assert "before iteration 1" in await ask(client, "step")
    assert not marker.exists()


@pytest.mark.parametrize(
    "hunt", AGENT_FAULT_SCENARIOS, ids=[scenario.scenario.fault.partition(":")[0] for scenario in AGENT_FAULT_SCENARIOS]
)
async def test_fault_finding_scenarios(
    server: Any, hunt: AgentFaultScenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent with nothing but the tools finds the fault."""
    hunt.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    async with mcp.Client(server) as client:
        answers = await hunt.run(functools.partial(ask, client))
    assert all(part in answers[-1] for part in hunt.expected_answer)
    assert not [answer for answer in answers if answer.startswith("error:")]


async def test_server_over_stdio() -> None:
    parameters = mcp.StdioServerParameters(command=sys.executable, args=["-P", "-m", "loopdbg", "mcp"])
    async with mcp.Client(parameters) as connected:
        assert "opened newton_sqrt.onnx" in await ask(connected, "open", path=NEWTON, inputs=MODEL_INPUTS)
