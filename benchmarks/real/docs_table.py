"""Write the rows of docs/real-models.md anew from a report of the benchmark.

python benchmarks/run.py --real --json report.json
python benchmarks/real/docs_table.py report.json docs/real-models.md

Of a report of some variants (--real '*/*/fp16') their rows are written, and those of others stay. It is to be run on
the machine of the report, whose processor stands over the rows.
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

#: Where the rows of a variant stand.
BEGIN_MARKER, END_MARKER = "<!-- rows of {}: benchmarks/real/docs_table.py -->", "<!-- end of rows -->"
PEERS = ("onnxruntime", "openvino")


def main() -> int:
    """The command line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    report, page = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    text = page.read_text(encoding="utf-8")
    told = set(re.findall(r"^### (\w+)", text, re.MULTILINE))
    for variant in dict.fromkeys(row["variant"] for row in report):
        begin = BEGIN_MARKER.format(variant)
        if text.count(begin) != 1 or END_MARKER not in text.partition(begin)[2]:
            print(f"{page} has no place for these rows: {begin} ... {END_MARKER}", file=sys.stderr)
            return 1
        before, _, rest = text.partition(begin)
        rows = "\n".join(table_lines([row for row in report if row["variant"] == variant], told))
        text = f"{before}{begin}\n\n{rows}\n\n{END_MARKER}{rest.partition(END_MARKER)[2]}"
    page.write_text(text, encoding="utf-8")
    return 0


def table_lines(report: Sequence[Mapping[str, Any]], told: set[str]) -> Iterator[str]:
    """What all rows come to, then each that is slower than a peer; ``told``: models of which the page says more."""
    timed = [(peer_ratio(row["times"]), row) for row in report]
    known = sorted(((r, row) for r, row in timed if r is not None), key=lambda pair: pair[0])
    slower = [(r, row) for r, row in known if r < 1]
    if known:
        mean = math.exp(sum(math.log(r) for r, _ in known) / len(known))
        fast = len(known) - len(slower)
        yield (
            f"On {_processor_description()}, of {len(known)} files {fast} are at least as fast as both; geometric "
            f"mean {mean:.2f}."
        )
    if slower:
        yield from ("", "| model | file | loopdbg | faster peer | ratio |", "| --- | --- | ---: | ---: | ---: |")
    for r, row in slower:
        name, own = row["model"], row["times"]["loopdbg"]
        title = f"[{name}](#{name})" if name in told else name
        yield f"| {title} | {row['system']} {row['variant']} | {own:.0f} us | {own * r:.0f} us | {r:.2f} |"


def peer_ratio(times: Mapping[str, float]) -> float | None:
    """The faster peer's time by ours."""
    peers = [times[peer] for peer in PEERS if peer in times]
    return min(peers) / times["loopdbg"] if peers and "loopdbg" in times else None


def _processor_description() -> str:
    """The processor, and how wide it works."""
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
