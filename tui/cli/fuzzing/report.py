"""The report of a fuzzing campaign: findings with their minimal pairs, and the commands that replay them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....debugger.coverage.report import Coverage
from ....debugger.export_formats.junit import JUnitCase
from ....debugger.fuzz.campaign import FuzzCampaign
from ....debugger.fuzz.finding import FindingKind
from ....debugger.fuzz.folder import FuzzFolder
from ....debugger.fuzz.job import DEFAULT_MAX_ITERATIONS
from ....debugger.peers.process import is_peer_name
from ....runtime.text import count_text, duration_text
from ...render.formatting import escape_unprintable
from ..execution.ci_checks import coverage_properties


def finding_lines(entry: Mapping[str, Any], options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The lines of a finding, from its entry in the state of the folder."""
    location = ""
    if entry["iteration"] is not None and entry["loop"]:
        node = f", node '{entry['node']}'" if entry["node"] else ""
        location = f" (iteration {entry['iteration']} of '{entry['loop']}'{node})"
    name = Path(entry["case"]).stem
    yield escape_unprintable(f"{name}: {entry['message']}{location}")
    yield f"  inputs  {escape_unprintable(entry['inputs'])}" + ("" if entry["minimal"] else "  (not minimal)")
    pair = entry["pair"]
    if pair is not None:
        yield f"  pair    {escape_unprintable(pair['change'])}"
        if pair["values"]:
            yield f"  {_divergence_text(pair)}:"
            yield from _table_lines([("", "fails", "passes"), *pair["values"]])
    yield f"  {replay_command(entry, options, folder)}"
    yield ""


def _divergence_text(pair: Mapping[str, Any]) -> str:
    return escape_unprintable(f"diverge in iteration {pair['iteration']} of '{pair['loop']}'")


def _table_lines(rows: list[Any]) -> Iterator[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    for row in rows:
        yield escape_unprintable(
            "    " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def replay_command(entry: Mapping[str, Any], options: argparse.Namespace, folder: Path) -> str:
    """The command that shows a finding again."""
    inputs = ["--inputs", str(folder / entry["case"])]
    kind, model = entry["kind"], options.model
    limit = ["--max-iterations", str(options.max_iterations or DEFAULT_MAX_ITERATIONS)]
    if kind == FindingKind.DIFFERS or (kind == FindingKind.TIMEOUT and options.against):
        other = ["--against", options.against] if is_peer_name(options.against) else [options.against]
        return shlex.join(["loopdbg", "diff", model, *other, *inputs])
    words = ["loopdbg", "run", model, *inputs]
    if kind == FindingKind.ASSERT:
        words += ["--assert", entry["message"].removesuffix(" is false")]
    return shlex.join([*words, *(limit if kind == FindingKind.ENDLESS else ())])


def summary_lines(campaign: FuzzCampaign, folder: FuzzFolder, coverage: Coverage | None) -> Iterator[str]:
    """The last lines of the report."""
    findings = folder.state["findings"]
    seconds = duration_text(campaign.seconds)
    yield (
        f"{count_text(len(findings), 'finding')}, {count_text(campaign.runs, 'run')}; {seconds}, "
        f"{count_text(len(campaign.entries), 'input')} in {folder.path}"
    )
    if coverage is not None:
        missed = f"; not: {coverage.missed[0]}" if coverage.missed else ""
        more = f", and {len(coverage.missed) - 1} more" if len(coverage.missed) > 1 else ""
        yield escape_unprintable(f"cover {coverage.covered} of {coverage.total} points of the loops{missed}{more}")


def junit_cases(
    campaign: FuzzCampaign, folder: FuzzFolder, coverage: Coverage | None, options: argparse.Namespace
) -> Iterator[JUnitCase]:
    """A test for the campaign, which passes, and one that fails for each finding."""
    model = Path(options.model).name
    covered = {} if coverage is None else coverage_properties(coverage)
    yield JUnitCase("fuzz", model, campaign.seconds, properties={"runs": campaign.runs, **covered})
    for entry in folder.state["findings"]:
        lines = list(finding_lines(entry, options, folder.path))[:-1]
        is_error = entry["kind"] in (FindingKind.ERROR, FindingKind.KILLED, FindingKind.TIMEOUT)
        yield JUnitCase(
            Path(entry["case"]).stem,
            model,
            failure=() if is_error else lines,
            error=lines if is_error else (),
            kind=entry["kind"],
            properties={"case": folder.path / entry["case"]},
        )


def fuzz_json(
    campaign: FuzzCampaign, folder: FuzzFolder, coverage: Coverage | None, options: argparse.Namespace
) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "model": options.model,
        "folder": str(folder.path),
        "findings": [
            {
                **{name: value for name, value in entry.items() if name != "signature"},
                "case": str(folder.path / entry["case"]),
                "command": replay_command(entry, options, folder.path),
            }
            for entry in folder.state["findings"]
        ],
        "runs": campaign.runs,
        "entries": len(campaign.entries),
        "seconds": campaign.seconds,
        "coverage": coverage
        and {
            "covered": coverage.covered,
            "total": coverage.total,
            "missed": [point.id for point in coverage.missed],
        },
    }
