"""Writes the generated parts of docs/adapters.md on the adapters for editors and agents, from their real output.

``python tests/support/adapters_page.py docs/adapters.md``; ``make editors`` installs the tokenizer.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from agent_fault_finding import AGENT_FAULT_SCENARIOS, connect_to_server
from dap_client import DapProcess
from loopdbg.debugger.frontends.dap.adapter import CAPABILITIES

ROOT = Path(__file__).parents[2]
#: The capabilities that other adapters report, by name with version.
DEBUGPY_CAPABILITIES_PATH = ROOT / "tests" / "peers" / "dap_capabilities.json"
_PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.S)
#: Numbers of tokens in the tables.
TOKEN_COUNT = re.compile(r"\d+ tokens")
_NODE_MODULES = ROOT / "build" / "node_modules"
_COUNT = """
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map((text) => encode(text).length)));
"""

# ------------------------------------------------------------------ capabilities


def capability_names(capabilities: Mapping[str, Any]) -> list[str]:
    """The capabilities that an adapter reports."""
    return sorted(name for name, message in capabilities.items() if message is True)


def capabilities() -> str:
    """The capability table: one row for each set of adapters."""
    others: dict[str, list[str]] = json.loads(DEBUGPY_CAPABILITIES_PATH.read_text(encoding="utf-8"))
    sides = {"loopdbg": capability_names(CAPABILITIES), **others}
    names_by_sides: dict[str, list[str]] = {}
    for name in sorted({name for side in sides.values() for name in side}):
        owners = ", ".join(side for side, names in sides.items() if name in names)
        names_by_sides.setdefault(owners, []).append(f"`{name.removeprefix('supports')}`")
    rows = [["reported by", "capabilities (`supports...`)"], ["---", "---"]]
    return _table([*rows, *([owners, ", ".join(names)] for owners, names in sorted(names_by_sides.items()))])


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def query_debugpy_capabilities() -> list[str]:
    """debugpy's response to ``initialize``."""
    body = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "debugpy"}})
    with subprocess.Popen(
        [sys.executable, "-m", "debugpy.adapter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        process.stdin.flush()
        try:
            while True:
                length = int(process.stdout.readline().split(b":")[1])
                process.stdout.readline()
                message = json.loads(process.stdout.read(length))
                if message["type"] == "response":
                    return capability_names(message["body"])
        finally:
            process.kill()


# ------------------------------------------------------------------ a session


#: Characters of a message that the transcript shows.
_LONGEST = 230


class RecordedDapClient(DapProcess):
    """Records requests, responses and events, in the order of the session."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.shown_count = False

    def _keep(self, sign: str, word: str, message: Any) -> None:
        if self.shown_count:
            text = "" if message is None else f" {json.dumps(message)}"
            self.lines.append(f"{sign} {word}{text if len(text) <= _LONGEST else text[:_LONGEST] + ' ...'}")

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        self._keep("→", command, arguments)
        answer = super().ask(command, **arguments)
        self._keep("←", command if answer["success"] else f"{command}, refused", answer.get("body"))
        return answer

    def event(self, name: str) -> dict[str, Any]:
        body = super().event(name)
        self._keep("⇐", name, body)
        return body


def session_transcript() -> str:
    """A conditional breakpoint, hit; a step back; a value that is changed; on to the end."""
    text = {"sourceReference": 1}
    client = RecordedDapClient()
    try:
        client.launch_and_stop(str(ROOT / "sample_models" / "newton_sqrt.onnx"), inputs={"a": 2, "tol": 1e-6})
        lines = client.get("source", source=text, sourceReference=1)["content"].splitlines()
        line = next(k for k, line_value in enumerate(lines, 1) if "err_new = " in line_value)
        client.shown_count = True
        client.get("setBreakpoints", source=text, breakpoints=[{"line": line, "condition": "x < 1.42"}])
        client.move("continue")
        client.get("evaluate", expression="x * x - a", context="hover", frameId=1)
        client.move("stepBack")
        client.get("setBreakpoints", source=text, breakpoints=[])
        scopes = client.get("scopes", frameId=1)["scopes"]
        carried = next(scope for scope in scopes if scope["name"] == "Carried")["variablesReference"]
        client.get("setVariable", variablesReference=carried, name="x", value="100.0")
        client.move("continue")
        outputs = client.get("scopes", frameId=1)["scopes"][-1]
        client.get("variables", variablesReference=outputs["variablesReference"])
        client.get("disconnect")
    finally:
        client.close()
    return "```text\n" + "".join(f"{line}\n" for line in client.lines) + "```\n"


# ------------------------------------------------------------------ agents


def tokenizer_available() -> bool:
    """Whether a tokenizer is installed."""
    return shutil.which("node") is not None and (_NODE_MODULES / "gpt-tokenizer").is_dir()


def count_tokens(texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text, in the vocabulary o200k_base."""
    command = ["node", "-e", _COUNT]
    environment = {"NODE_PATH": str(_NODE_MODULES), "PATH": str(Path(shutil.which("node") or "").parent)}
    ran = subprocess.run(
        command, input=json.dumps(texts), env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    counted: list[int] = json.loads(ran.stdout)
    return counted


async def _tools() -> list[Any]:
    import mcp

    async with mcp.Client(connect_to_server()) as client:
        return list((await client.list_tools()).tools)


def tool_table() -> str:
    """The tools, each with the number of tokens of its definition."""
    result = asyncio.run(_tools())
    shown = [
        {"name": entry.name, "description": entry.description, "input_schema": entry.input_schema} for entry in result
    ]
    definitions = [json.dumps(element) for element in shown]
    rows = [["tool", "what it does", "its definition"], ["---", "---", "---:"]]
    for item, cost in zip(result, _token_costs(definitions), strict=True):
        what = " ".join((item.description or "").split()).split(". ")[0].rstrip(".")
        rows.append([f"`{item.name}`", what, f"{cost} tokens"])
    return _table([*rows, ["all", "", f"{sum(_token_costs(definitions))} tokens"]])


def _token_costs(texts: Sequence[str]) -> list[int]:
    return count_tokens(texts) if tokenizer_available() else [0 for _ in texts]


async def _run_fault_hunts() -> list[list[str]]:
    import mcp

    async def ask(client: Any, tool: str, **arguments: Any) -> str:
        result = await client.call_tool(tool, arguments)
        return "\n".join(part.text for part in result.content)

    results = []
    for hunt in AGENT_FAULT_SCENARIOS:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            hunt.build(Path(folder))
            async with mcp.Client(connect_to_server()) as client:
                results.append(await hunt.run(functools.partial(ask, client)))
    return results


def fault_finding_table() -> str:
    """The five fault-finding scenarios, with the number of tokens of their answers."""
    rows = [["fault", "calls", "characters", "all answers", "the longest"], ["---", "---", "---:", "---:", "---:"]]
    for hunt, answers in zip(AGENT_FAULT_SCENARIOS, asyncio.run(_run_fault_hunts()), strict=True):
        costs = _token_costs(answers)
        calls = ", ".join(dict.fromkeys(f"`{tool}`" for tool, _ in hunt.calls))
        length = f"{sum(map(len, answers))}"
        rows.append([hunt.scenario.fault, calls, length, f"{sum(costs)} tokens", f"{max(costs)} tokens"])
    return _table(rows)


# ------------------------------------------------------------------ the page

PARTS: Mapping[str, Callable[[], str]] = {
    "capabilities": capabilities,
    "session": session_transcript,
    "tools": tool_table,
    "hunts": fault_finding_table,
}


def render_page(text: str) -> str:
    """The page with its generated parts updated."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}", text)


def render_parts(text: str) -> Iterator[tuple[str, str]]:
    """The generated parts of the page, by name."""
    for match in _PART.finditer(text):
        yield match[2], match[0][len(match[1]) : -len(match[3])].strip("\n") + "\n"


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.write_text(render_page(where.read_text(encoding="utf-8")), encoding="utf-8")
