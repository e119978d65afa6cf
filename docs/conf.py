"""Sphinx settings of the documentation site, whose source folder is the checkout; ``make docs`` builds it."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.docutils import SphinxDirective

import loopdbg
from loopdbg.tui.cli import COMMANDS
from loopdbg.tui.cli.commands.open import OpenCommand

project = "loopdbg"
author = "The loopdbg maintainers"
release = loopdbg.__version__
root_doc = "docs/index"
include_patterns = [
    "docs/**.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "benchmarks/**.md", "editors/README.md",
    "editors/skills/**.md", "runtime/kernels/README.md", "sample_models/README.md",
]  # fmt: skip
exclude_patterns = ["build", ".*", "**/node_modules"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"loopdbg {release}"
html_extra_path = ["site"]
myst_heading_anchors = 4
autodoc_typehints = "none"
#: Members of ancestors, except of these.
autodoc_default_options = {"members": True, "inherited-members": "object,BaseException,LoopdbgError"}
nitpicky = True


class CommandLine(SphinxDirective):
    """The help of every subcommand, from its parser."""

    def run(self) -> list[Any]:
        parsers = [command.parser() for command in (OpenCommand(), *COMMANDS.values())]
        return self.parse_text_to_nodes(
            "\n".join(f"## {parser.prog}\n\n```text\n{parser.format_help()}```\n" for parser in parsers),
            allow_section_headings=True,
        )


def format_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Napoleon alone would take a property's first words up to a colon for its type."""
    lines[:] = str(GoogleDocstring(lines, Config(), what="method")).splitlines()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_directive("command-line", CommandLine)
    app.connect("autodoc-process-docstring", format_docstring)
