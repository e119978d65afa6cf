"""Writes ``runtime/ops/operator_index.py`` anew: in which family each operator is, so that a model imports only those
it needs.

python tests/support/operator_index.py
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopdbg.runtime.ops import registry

INDEX_PATH = Path(registry.__file__).with_name("operator_index.py")
_WIDTH = 109
_HEAD = '''"""In which family each operator is; written by tests/support/operator_index.py."""

from __future__ import annotations

#: System, domain, family -> operators. What is missing here is looked for in all families.
INDEX: tuple[tuple[str, str, str, str], ...] = (
'''


def render_index() -> str:
    """What the file is to hold. In a process that has imported no family so far."""
    results: dict[tuple[str, str, str], set[str]] = {}
    register: Any = registry._register

    def noted(system: Any, domain: str, op_types: Any, *more: Any) -> Callable[[Any], Any]:
        keep = register(system, domain, op_types, *more)

        def apply(function: Any) -> Any:
            family = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
            results.setdefault((system.value, domain, family), set()).update(op_types)
            return keep(function)

        return apply

    registry._register = noted
    for family in registry._FAMILY_MODULES:
        importlib.import_module(f"{registry.__package__}.{family}")
    lines = [_HEAD]
    for (system, domain, family), op_types in sorted(results.items()):
        lines.append(f'    (\n        "{system}",\n        "{domain}",\n        "{family}",\n')
        names = " ".join(sorted(op_types))
        # As ruff formats it: on one line where that is wide enough.
        rows = [names] if len(names) <= _WIDTH else textwrap.wrap(names, _WIDTH - 1)
        lines += [f'        "{row} "\n' for row in rows[:-1]]
        lines.append(f'        "{rows[-1]}",\n    ),\n')
    return "".join([*lines, ")\n"])


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(render_index())
    else:
        INDEX_PATH.write_text(render_index())
