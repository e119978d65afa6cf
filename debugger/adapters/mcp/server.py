"""The agent's tools as a server of the Model Context Protocol."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....runtime.boundary import Boundary
from ....runtime.errors import LoopdbgError, UsageError
from ....runtime.text import printable
from ...console.command import Quit
from .agent import Agent, shortened

_INSTRUCTIONS = """\
loopdbg debugs the loops inside neural-network models. Open a model; it stands before iteration 0 of its first loop.
Step by iterations or nodes, set breakpoints ('nan' stops where NaN arises), go back in time, print expressions, ask
why. diff names the first iteration and node in which two models differ."""
_TOOLS = (
    *(Agent.open, Agent.explain, Agent.list_source, Agent.step, Agent.continue_run, Agent.back, Agent.reverse_continue),
    *(Agent.go_to, Agent.set_breakpoint, Agent.clear_breakpoints, Agent.print_value, Agent.why, Agent.set_value),
    *(Agent.command, Agent.diff, Agent.extract),
)


def server(agent: Agent) -> Any:
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
                with Boundary():
                    return method(*arguments, **named)
            except LoopdbgError as error:
                raise failed(shortened(printable(str(error)))) from None
            except Quit:
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
