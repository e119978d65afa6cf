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
from .against import Against
from .diff import Diff
from .launching import check_exists, opened, settings_of
from .trust import check_trust


def run(options: argparse.Namespace) -> int:
    """Serve one agent, until it hangs up."""

    def opens(arguments: Mapping[str, Any]) -> Debuggee:
        values = {**arguments, "maxIterations": arguments["max_iterations"]}
        return opened(arguments["path"], settings_of(values), options.trust_script)

    def compares(a: str, b: str, against: str, inputs: Mapping[str, Any]) -> Iterable[str]:
        for path in (a, *([b] if b else [])):
            check_exists(path)
        comparison = Diff().parser().parse([""])
        vars(comparison).update(settings_of({"inputs": inputs}), a=a, b=b or None, trust_script=options.trust_script)
        comparison.against = Against(against) if against else None
        check_trust(comparison, serving=True, asking=False)
        return diffing.told(comparison)

    agent = Agent(opens, compares, options.allow_write)
    served = server(agent)
    try:
        served.run("stdio")
    except KeyboardInterrupt:
        raise
    except OSError as error:
        raise UsageError(f"the agent is gone: {error.strerror or error}") from None
    return 0
