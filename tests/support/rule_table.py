"""Writes the table of rules in docs/check.md: ``python tests/support/rule_table.py``."""

from __future__ import annotations

import re
from pathlib import Path

from loopdbg.debugger.portability.known_differences import KNOWN_DIFFERENCES, KnownDifference, TargetVerdict
from loopdbg.debugger.portability_fixes.kinds import kinds_for

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
_PART = re.compile(r"(<!-- rules -->\n).*?(<!-- end -->)", re.S)
_HEAD = "| rule | case | verdict | what to do |\n| --- | --- | --- | --- |\n"
_ISSUE = re.compile(r"^([\w.-]+/[\w.-]+)#(\d+)$")
_SIGNS = {TargetVerdict.DOES_NOT_LOAD: "✗", TargetVerdict.DIFFERS: "≠", TargetVerdict.UNKNOWN: "?"}


def _row(label: str, rule: KnownDifference) -> str:
    verdicts: dict[TargetVerdict, list[str]] = {}
    for target, verdict in rule.verdicts.items():
        verdicts.setdefault(verdict, []).append(target)
    texts = "; ".join(f"{_SIGNS[verdict]} {', '.join(targets)}" for verdict, targets in verdicts.items())
    run = "*" if rule.needs_run and texts else ""
    issues = "".join(
        f" [{text}](https://github.com/{issue[1]}/issues/{issue[2]})"
        for text in rule.evidence
        if (issue := _ISSUE.match(text))
    )
    fixes = ", ".join(f"`{kind.name}`" for kind in kinds_for(label))
    remedy = "; ".join(part for part in (rule.remedy, fixes) if part)
    return f"| {label} | {rule.text}{issues} | {texts}{run} | {remedy} |\n"


def render(page: str) -> str:
    """A page with the table of all rules."""
    rows = "".join(_row(label, rule) for label, rule in KNOWN_DIFFERENCES.items())
    return _PART.sub(lambda match: f"{match[1]}{_HEAD}{rows}{match[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
