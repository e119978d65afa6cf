"""The agent's tools as a server of the Model Context Protocol."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....runtime.api_boundary import ApiBoundary
from ....runtime.errors import LoopdbgError, UsageError
from ....runtime.text import escape_unprintable
from ..console.command_registry import QuitRequest
from .tools import McpTools, truncate_answer

_INSTRUCTIONS = """\
loopdbg debugs the loops inside neural-network models. Open a model; it stands before iteration 0 of its first loop.
Step by iterations or nodes, set breakpoints ('nan' stops where NaN arises), go back in time, print expressions, ask
why. diff names the first iteration and node in which two models differ."""
_TOOLS = (
    *(
        McpTools.open,
        McpTools.explain,
        McpTools.list_source,
        McpTools.step,
        McpTools.continue_run,
        McpTools.back,
        McpTools.reverse_continue,
    ),
    *(
        McpTools.go_to,
        McpTools.set_breakpoint,
        McpTools.clear_breakpoints,
        McpTools.print_value,
        McpTools.why,
        McpTools.set_value,
    ),
    *(McpTools.command, McpTools.diff, McpTools.extract),
)


def create_server(agent: McpTools) -> Any:
    """A server with the tools of an agent.

    Raises:
        UsageError: the package ``mcp`` is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    except ImportError:
        raise UsageError("mcp needs the package mcp, which is not installed: pip install 'loopdbg[mcp]'") from None

    def told(method: Callable[..., str], failed: type[Exception] = ToolError) -> Callable[..., str]:
        """What goes wrong is one line for the agent."""

        @functools.wraps(method)
        def tool(*arguments: Any, **named: Any) -> str:
            try:
                with ApiBoundary():
                    return method(*arguments, **named)
            except LoopdbgError as error:
                raise failed(truncate_answer(escape_unprintable(str(error)))) from None
            except QuitRequest:
                raise failed("the session goes on until the connection ends") from None

        return tool

    made = MCPServer("loopdbg", instructions=_INSTRUCTIONS, log_level="ERROR")
    for method in _TOOLS:
        made.tool()(told(getattr(agent, method.__name__)))
    made.resource("loopdbg://source", description="The pseudo-code of the open model.")(
        told(agent.source, ResourceError)
    )
    made.resource("loopdbg://history/{name}", description="A value in each iteration so far.")(
        told(agent.history, ResourceError)
    )
    return made
