"""Update the rows of docs/real-models.md from a report of the benchmark.

python benchmarks/run.py --real --json report.json
python benchmarks/real/docs_table.py report.json docs/real-models.md

For a report of some variants (--real '*/*/fp16') only their rows are written. Run it on the machine of the report,
whose processor is named above the rows.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import machine_info

#: Markers around the rows of a variant.
BEGIN_MARKER, END_MARKER = "<!-- rows of {}: benchmarks/real/docs_table.py -->", "<!-- end of rows -->"
PEERS = ("onnxruntime", "openvino")


def main() -> int:
    """Run the command line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    report, page = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    text = page.read_text(encoding="utf-8")
    described = set(re.findall(r"^### (\w+)", text, re.MULTILINE))
    for variant in dict.fromkeys(row["variant"] for row in report):
        begin = BEGIN_MARKER.format(variant)
        if text.count(begin) != 1 or END_MARKER not in text.partition(begin)[2]:
            print(f"{page} has no place for these rows: {begin} ... {END_MARKER}", file=sys.stderr)
            return 1
        before, _, rest = text.partition(begin)
        rows = "\n".join(table_lines([row for row in report if row["variant"] == variant], described))
        text = f"{before}{begin}\n\n{rows}\n\n{END_MARKER}{rest.partition(END_MARKER)[2]}"
    page.write_text(text, encoding="utf-8")
    return 0


def table_lines(report: Sequence[Mapping[str, Any]], described: set[str]) -> Iterator[str]:
    """Yield the mean, then each row slower than a peer; ``described``: models with a section on the page."""
    timed = [(peer_ratio(row["times"]), row) for row in report]
    ratios = sorted(((r, row) for r, row in timed if r is not None), key=lambda pair: pair[0])
    slower = [(r, row) for r, row in ratios if r < 1]
    if ratios:
        mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
        fast = len(ratios) - len(slower)
        yield (
            f"On {_processor_description()}, of {len(ratios)} files {fast} are at least as fast as both; geometric "
            f"mean {mean:.2f}."
        )
    if slower:
        yield from ("", "| model | file | loopdbg | faster peer | ratio |", "| --- | --- | ---: | ---: | ---: |")
    for r, row in slower:
        name, own = row["model"], row["times"]["loopdbg"]
        title = f"[{name}](#{name})" if name in described else name
        yield f"| {title} | {row['system']} {row['variant']} | {own:.0f} us | {own * r:.0f} us | {r:.2f} |"


def peer_ratio(times: Mapping[str, float]) -> float | None:
    """Return the faster peer's time relative to ours."""
    peers = [times[peer] for peer in PEERS if peer in times]
    return min(peers) / times["loopdbg"] if peers and "loopdbg" in times else None


def _processor_description() -> str:
    """The processor, and its vector width."""
    words = machine_info.describe()
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        flags = set()
    widths = (("avx512f", "AVX-512"), ("avx2", "AVX2"))
    width = next((f" with {title}" for flag, title in widths if flag in flags), "")
    return f"{words['cores']} cores of {words['processor']}{width}"


if __name__ == "__main__":
    sys.exit(main())
