"""Make links and images of README.md absolute for a package index: ``absolute_links.py URL REF``.

URL is the repository's address and REF a tag or commit. Also adds ``[project.urls]`` to pyproject.toml. A checkout does
not know its address, so the workflow that builds the packages runs this first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")


def absolute_links(text: str, url: str, ref: str) -> str:
    """Markdown with every relative link and image made absolute."""
    return _LINK.sub(
        lambda match: (
            f"{match['image']}[{match['text']}]({url}/{'raw' if match['image'] else 'blob'}/{ref}/{match['path']})"
        ),
        text,
    )


def project_urls(url: str, ref: str) -> str:
    """The table for pyproject.toml."""
    return (
        f'\n[project.urls]\nRepository = "{url}"\nIssues = "{url}/issues"\n'
        f'Documentation = "{url}/tree/{ref}/docs"\nChangelog = "{url}/blob/{ref}/CHANGELOG.md"\n'
    )


def main(url: str, ref: str) -> None:
    """Rewrite both files."""
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(absolute_links(readme.read_text("utf-8"), url, ref), encoding="utf-8")
    project.write_text(project.read_text("utf-8") + project_urls(url, ref), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
