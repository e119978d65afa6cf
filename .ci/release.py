"""Check whether a tag may be released, and write its notes: ``release.py v1.2.3 NOTES``.

A release cannot be undone, so omissions are reported before anything is built.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def release_problems(tag: str, root: Path = ROOT) -> list[str]:
    """The problems that prevent a release, one line each."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (root / "src" / "loopdbg" / "__init__.py").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    versions = {
        "pyproject.toml": project["version"],
        "src/loopdbg/__init__.py": _first_group(r'^__version__ = "(.*)"', source),
        "CITATION.cff": _first_group(r"^version: (.*)", citation),
    }
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    faults = [f"{file} says {version}, the tag {tag}" for file, version in versions.items() if f"v{version}" != tag]
    faults += [f"changelog.d/{path.name} is not in CHANGELOG.md" for path in sorted((root / "changelog.d").glob("+*"))]
    if "\n## [Unreleased]" in changes:
        faults.append("CHANGELOG.md has changes under Unreleased")
    if not notes(tag, changes):
        faults.append(f"CHANGELOG.md has no section of {tag}")
    return faults


def notes(tag: str, changes: str) -> str:
    """The section of a release in the changelog, without its heading."""
    heading = re.escape(tag.removeprefix("v"))
    return _first_group(rf"^## \[{heading}\].*\n([\s\S]*?)(?=^## |\Z)", changes).strip()


def _first_group(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def main(tag: str, target: Path) -> int:
    """Returns exit status 1 if there are problems."""
    faults = release_problems(tag)
    if faults:
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    target.write_text(notes(tag, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
