"""Write the rows of docs/real-models.md anew from a report of the benchmark.

python benchmarks/run.py --real --json report.json
python benchmarks/real/page.py report.json docs/real-models.md
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- rows: benchmarks/real/page.py -->", "<!-- end of rows -->"
PEERS = ("onnxruntime", "openvino")


def main() -> int:
    """The command line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    report, page = Path(sys.argv[1]), Path(sys.argv[2])
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"{page} has no place for the rows: {BEGIN} ... {END}", file=sys.stderr)
        return 1
    before, rest = text.split(BEGIN)
    told = set(re.findall(r"^### (\w+)", text, re.MULTILINE))
    rows = "\n".join(lines(json.loads(report.read_text(encoding="utf-8")), told))
    page.write_text(f"{before}{BEGIN}\n\n{rows}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0


def lines(report: Sequence[Mapping[str, Any]], told: set[str]) -> Iterator[str]:
    """What all rows come to, then each that is slower than a peer; ``told``: models of which the page says more."""
    timed = [(ratio(row["times"]), row) for row in report]
    known = sorted(((r, row) for r, row in timed if r is not None), key=lambda pair: pair[0])
    slower = [(r, row) for r, row in known if r < 1]
    if known:
        mean = math.exp(sum(math.log(r) for r, _ in known) / len(known))
        fast = len(known) - len(slower)
        yield f"Of {len(known)} files {fast} are at least as fast as both; geometric mean {mean:.2f}."
    if slower:
        yield from ("", "| model | file | loopdbg | faster peer | ratio |", "| --- | --- | ---: | ---: | ---: |")
    for r, row in slower:
        name, own = row["model"], row["times"]["loopdbg"]
        title = f"[{name}](#{name})" if name in told else name
        yield f"| {title} | {row['system']} {row['variant']} | {own:.0f} us | {own * r:.0f} us | {r:.2f} |"


def ratio(times: Mapping[str, float]) -> float | None:
    """The faster peer's time by ours."""
    peers = [times[peer] for peer in PEERS if peer in times]
    return min(peers) / times["loopdbg"] if peers and "loopdbg" in times else None


if __name__ == "__main__":
    sys.exit(main())
