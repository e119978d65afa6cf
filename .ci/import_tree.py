"""Write a copy of the package in which import-linter sees every module: ``import_tree.py DIR``.

import-linter reads only .py files, and treats an import of a Cython module as one of the root package. In the copy,
each Cython module is a .py file with the imports of its .pyx and .pxd, so that contracts apply to it too.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "loopdbg"

# An import, which may span lines within parentheses.
IMPORT = re.compile(r"^[ \t]*(from[ \t]+[\w.]+[ \t]+)?c?import\b(?:[ \t]*\([^)]*\)|.*)", re.MULTILINE)


def imports(cython: str) -> list[str]:
    """The imports and cimports of Cython source, each as a Python statement."""
    statements = []
    for match in IMPORT.finditer(cython):
        statement = re.sub(r"\bcimport\b", "import", match[0].strip(), count=1)
        try:
            ast.parse(statement)
        except SyntaxError:  # a sentence in a docstring that starts with an import keyword
            continue
        statements.append(statement)
    return statements


def main(target: Path) -> None:
    """Write the copy to ``target``, replacing an existing one."""
    copy = target / PACKAGE.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for source in sorted(path for path in copy.rglob("*") if path.suffix in (".pyx", ".pxd")):
        with source.with_suffix(".py").open("a") as module:
            module.writelines(f"{statement}\n" for statement in imports(source.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
