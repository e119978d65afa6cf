"""Data files next to the code, such as lessons and templates, are in the wheel and in the sdist."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".toml", ".txt", ".html", ".tcss", ".js", ".json"}


def data_files() -> list[Path]:
    """The data files of the packages."""
    folders = [ROOT / name for name in ("runtime", "debugger", "tui")]
    return [path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES]


@pytest.mark.skipif(not (ROOT / "runtime").is_dir(), reason="an installed package is tested: no sources are here")
def test_package_data_covers_every_data_file() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    files = data_files()
    assert len(files) > 30
    for path in files:
        package = next(parent for parent in path.parents if (parent / "__init__.py").exists())
        name = str(path.relative_to(package))
        assert any(
            fnmatch(name, pattern) for pattern in setuptools["package-data"]["*"] if "/" in pattern or "/" not in name
        ), name
        assert any(fnmatch(path.name, pattern) for pattern in manifest), name


def test_package_data_has_no_sources_that_cannot_be_used_without_a_checkout() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    package_data = setuptools["package-data"]
    for name in ("kernel.h", "engine.pxd", "engine.pyx", "kernel.c", "kernels/thread_pool.h"):
        assert not any(fnmatch(name, pattern) for patterns in package_data.values() for pattern in patterns), name
