"""docs/check.md has the rules of the table, and docs/peers.md names no others."""

from __future__ import annotations

import re

import rule_table
from loopdbg.debugger.portability.known_differences import KNOWN_DIFFERENCES


def test_check_page_has_the_table() -> None:
    page = rule_table.PAGE.read_text(encoding="utf-8")
    assert page == rule_table.render(page), "run: python tests/support/rule_table.py"


def test_labels_on_the_peers_page_are_rules() -> None:
    page = (rule_table.PAGE.parent / "peers.md").read_text(encoding="utf-8")
    labels = re.findall(r"\b[BST]\d+\b", page)
    assert len(labels) > 20
    assert sorted(set(labels) - set(KNOWN_DIFFERENCES)) == []
