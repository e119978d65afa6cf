"""Checks that every name of the public API has a complete type: ``python .ci/verify_types.py`` (1-3 minutes).

Runs ``pyright --verifytypes`` from PATH, or PYRIGHT: ``pip install pyright`` in an environment of its own; its first
run fetches Node.js and pyright from npm. Public are the names in ``loopdbg.__all__`` with their members,
``loopdbg.testing`` and the pytest plugin; packages below ``loopdbg`` are internal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from typing import Any

import loopdbg

MODULES = ("loopdbg.testing", "loopdbg.pytest_plugin")


def public_names() -> set[str]:
    """The qualified names of the public classes and functions, and the public modules."""
    names = set(MODULES)
    for name in loopdbg.__all__:
        value = getattr(loopdbg, name)
        is_variable = not hasattr(value, "__qualname__")
        names.add(f"loopdbg.{name}" if is_variable else f"{value.__module__}.{value.__qualname__}")
    return names


def select_public(report: Mapping[str, Any], names: Collection[str]) -> list[Mapping[str, Any]]:
    """The symbols of a report that are public, or members of what is public."""
    prefixes = tuple(f"{name}." for name in names)
    return [
        symbol
        for symbol in report["typeCompleteness"]["symbols"]
        if symbol["name"] in names or symbol["name"].startswith(prefixes)
    ]


def is_complete(symbol: Mapping[str, Any]) -> bool:
    return bool(symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"])


def main() -> int:
    command = [os.environ.get("PYRIGHT", "pyright"), "--pythonpath", sys.executable]
    ran = subprocess.run(
        [*command, "--verifytypes", "loopdbg", "--ignoreexternal", "--outputjson"], stdout=subprocess.PIPE, check=False
    )
    report = json.loads(ran.stdout)
    symbols = select_public(report, public_names())
    incomplete = [symbol for symbol in symbols if not is_complete(symbol)]
    for symbol in incomplete:
        messages = [" ".join(item["message"].split()) for item in symbol.get("diagnostics", ())]
        print(f"{symbol['name']}: {messages[0] if messages else 'a part of it has no complete type'}")
    share = 1 - len(incomplete) / max(len(symbols), 1)
    score = report["typeCompleteness"]["completenessScore"]
    print(f"{share:.1%} of {len(symbols)} public names, {score:.1%} of all names")
    return 1 if incomplete or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
