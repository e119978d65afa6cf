"""What ``loopdbg mcp`` does: opens and compares for an agent what it names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from ...debugger.adapters.mcp.agent import Agent
from ...debugger.adapters.mcp.server import server
from ...debugger.session.debuggee import Debuggee
from ...runtime.errors import UsageError
from . import diffing
from .diff import Diff
from .launching import given_inputs, opened
from .trust import check_trust


def run(options: argparse.Namespace) -> int:
    """Serve one agent, until it hangs up."""

    def opens(arguments: Mapping[str, Any]) -> Debuggee:
        words = [*given_inputs(arguments["inputs"])]
        for option in ("seed", "max_iterations"):
            if arguments[option] is not None:
                words += [f"--{option.replace('_', '-')}", str(arguments[option])]
        return opened(arguments["path"], words, options.trust_script)

    def compares(a: str, b: str, against: str, inputs: Mapping[str, Any]) -> Iterable[str]:
        words = [a, *([b] if b else ["--against", against]), *given_inputs(inputs)]
        asked = Diff().parser().parse(words)
        asked.trust_script |= options.trust_script
        check_trust(asked, serving=True)
        return diffing.told(asked)

    agent = Agent(opens, compares, options.allow_write)
    served = server(agent)
    try:
        served.run("stdio")
    except KeyboardInterrupt:
        raise
    except OSError as error:
        raise UsageError(f"the agent is gone: {error.strerror or error}") from None
    return 0
