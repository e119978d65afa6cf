"""A server of the Model Context Protocol with the tools of an agent."""

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
loopdbg debugs the loops inside neural-network models. Open a model; it is stopped before iteration 0 of its first loop.
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
    """Create a server with the tools of an agent.

    Raises:
        UsageError: the package ``mcp`` is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    except ImportError:
        raise UsageError(
            "mcp needs the package mcp, which is not installed: pip install 'loopdbg[mcp]'", name="mcp"
        ) from None

    def with_one_line_errors(method: Callable[..., str], error_type: type[Exception] = ToolError) -> Callable[..., str]:
        """Convert errors to messages of one line."""

        @functools.wraps(method)
        def tool(*arguments: Any, **keywords: Any) -> str:
            try:
                with ApiBoundary():
                    return method(*arguments, **keywords)
            except LoopdbgError as error:
                raise error_type(truncate_answer(escape_unprintable(str(error)))) from None
            except QuitRequest:
                raise error_type("the session goes on until the connection ends") from None

        return tool

    server = MCPServer("loopdbg", instructions=_INSTRUCTIONS, log_level="ERROR")
    for method in _TOOLS:
        server.tool()(with_one_line_errors(getattr(agent, method.__name__)))
    server.resource("loopdbg://source", description="The pseudo-code of the open model.")(
        with_one_line_errors(agent.source, ResourceError)
    )
    server.resource("loopdbg://history/{name}", description="A value in each iteration so far.")(
        with_one_line_errors(agent.history, ResourceError)
    )
    return server
