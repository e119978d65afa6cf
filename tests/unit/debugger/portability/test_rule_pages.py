"""The documentation pages have the rules of the table, and no others."""

from __future__ import annotations

import re

import rule_table
from loopdbg.debugger.portability.known_differences import (
    KNOWN_DIFFERENCES,
    ONNXRUNTIME,
    OPENVINO,
    TargetVerdict,
)

#: What no page on runtimes is about: file formats.
_FILE_FORMATS = {"B51", "B71"}


def test_check_page_has_the_table() -> None:
    page = rule_table.PAGE.read_text(encoding="utf-8")
    assert page == rule_table.render(page), "run: python tests/support/rule_table.py"


def test_peers_page_has_every_difference_of_a_runtime() -> None:
    page = (rule_table.PAGE.parent / "peers.md").read_text(encoding="utf-8")
    labels = [
        label for cell in re.findall(r"^\| ([BST][\dBST, ]*) \|", page, re.MULTILINE) for label in cell.split(", ")
    ]
    known = {
        label
        for label, rule in KNOWN_DIFFERENCES.items()
        if {rule.verdicts.get(ONNXRUNTIME), rule.verdicts.get(OPENVINO)}
        & {TargetVerdict.DOES_NOT_LOAD, TargetVerdict.DIFFERS}
    }
    assert set(labels) - {"B45"} == known - _FILE_FORMATS
