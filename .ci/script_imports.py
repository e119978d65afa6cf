"""Finds imports of what is gone in tests, benchmarks and scripts, which mypy does not read."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tests", "benchmarks", "docs", ".ci")
#: Where a module may be, besides the folder of the file that imports it.
SEARCHED = tuple(ROOT / folder for folder in ("src", "tests", "tests/support", "benchmarks"))
#: Packages of others, which need not be installed.
PACKAGES = {
    *("_testcapi", "aiohttp", "distributed", "google", "hypothesis", "jax", "jsonschema", "junitparser", "lxml"),
    *("matplotlib", "mcp", "ml_dtypes", "numpy", "onnx", "onnxruntime", "onnxscript", "onnxsim", "onnxslim"),
    *("openvino", "packaging", "polygraphy", "pyarrow", "pytest", "rich", "sphinx", "tensorrt", "textual", "torch"),
    *("tract", "yaml"),
}  # fmt: skip


def main() -> int:
    """Print the imports that fail; returns the exit status."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    lines = [line for path in paths for line in missing(str(path.relative_to(ROOT)), path.read_text("utf-8"))]
    print("\n".join(lines) or "every import of a script is there")
    return bool(lines)


def missing(name: str, text: str) -> Iterator[str]:
    """The modules, and the names in modules of this project, that a script imports and that do not exist."""
    path = ROOT / name
    for node in ast.walk(ast.parse(text)):
        place = f"{name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom):
            folders = (path.parents[node.level - 1],) if node.level else (path.parent, *SEARCHED)
            modules, imported = [node.module or "__init__"], {alias.name for alias in node.names} - {"*"}
        elif isinstance(node, ast.Import):
            folders, modules, imported = (path.parent, *SEARCHED), [alias.name for alias in node.names], set()
        else:
            continue
        for module in modules:
            source = source_of(module, folders)
            if source is not None:
                names = names_in(source)
                if "__getattr__" not in names:  # else it has names that are imported late
                    yield from (f"{place}: no '{part}' in '{module}'" for part in sorted(imported - names))
            elif module.partition(".")[0] not in PACKAGES | sys.stdlib_module_names:
                yield f"{place}: no module '{module}'"


def source_of(module: str, folders: tuple[Path, ...]) -> Path | None:
    """The file of a module of this project; the folder of a package."""
    relative = module.removesuffix("__init__").replace(".", "/")
    candidates = (folder / f"{relative}{suffix}" for folder in folders for suffix in (".pyi", ".py", ""))
    return next((path for path in candidates if relative and path.exists()), folders[0] if not relative else None)


@cache
def names_in(source: Path) -> frozenset[str]:
    """The names that a module defines or imports, anywhere; of a package also its modules."""
    names = set()
    if source.is_dir():
        names = {path.stem for path in source.iterdir()}
        source /= "__init__.py"
    for node in ast.walk(ast.parse(source.read_bytes() if source.exists() else b"")):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)


if __name__ == "__main__":
    sys.exit(main())
