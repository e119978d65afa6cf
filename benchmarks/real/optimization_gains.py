"""Real models without one optimization after another: a row for each that has an effect, then a summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from loopdbg.runtime.model import Model
from optimization_switches import OptimizationSwitch
from switch_comparison import MIN_GAIN, SwitchComparison, compare_switch, useful_switches

#: Folder of built models (export.py).
BUILT_DIRECTORY = Path(__file__).resolve().parents[2] / "build" / "real"
SYSTEMS = {".onnx": "onnx", ".xml": "ir"}

Row = tuple[str, SwitchComparison]


def main(patterns: Sequence[str], switches: Sequence[OptimizationSwitch], json_path: str | None) -> int:
    """Print the rows of the models that match the patterns, and a summary. Exit status 1 if bits differ."""
    files = [file for file in _built_files() if not patterns or any(_matches(pattern, file) for pattern in patterns)]
    if not files:
        print(f"no such model in {BUILT_DIRECTORY}: python benchmarks/run.py --real --check builds them")
        return 2
    rows: list[Row] = []
    print(f"{'us a run':40}{'way':22}{'with it':>10}{'without':>10}", flush=True)
    for file in files:
        for comparison in _compare_switches(file, switches):
            rows.append((_file_title(file), comparison))
            print(_comparison_line(*rows[-1]), flush=True)
            if json_path:
                with Path(json_path).open("a", encoding="utf-8") as target:
                    target.write(json.dumps({"model": _file_title(file), **asdict(comparison)}) + "\n")
    print("\n".join(["", *_summary_lines(rows, [switch.name for switch in switches])]))
    return 0 if all(comparison.same or comparison.switch == "panels" for _, comparison in rows) else 1


def _built_files() -> list[Path]:
    return sorted(
        file
        for stamp in BUILT_DIRECTORY.glob("*/built.json")
        for file in stamp.parent.iterdir()
        if file.suffix in SYSTEMS
    )


def _file_title(file: Path) -> str:
    return f"{file.parent.name}/{SYSTEMS[file.suffix]}/{file.stem}"


def _matches(pattern: str, file: Path) -> bool:
    return fnmatch(_file_title(file), pattern) or fnmatch(file.parent.name, pattern)


def _compare_switches(file: Path, switches: Sequence[OptimizationSwitch]) -> Iterator[SwitchComparison]:
    def load() -> tuple[Model, Mapping[str, Any]]:
        model = loopdbg.load(file)
        return model, _load_inputs(file, model)

    complete, useful = useful_switches(load, switches)
    for switch in useful:
        yield compare_switch(complete, load, switch)


def _load_inputs(file: Path, model: Model) -> dict[str, Any]:
    halves = {port.name for port in model.inputs if port.dtype == np.float16}
    arrays = np.load(file.parent / "inputs.npz").items()
    return {name: value.astype(np.float16) if name in halves else value for name, value in arrays}


def _comparison_line(title: str, comparison: SwitchComparison) -> str:
    remark = "" if comparison.same else "  other bits"
    fast, slow = comparison.with_it * 1e6, comparison.without * 1e6
    return f"{title:40}{comparison.switch:22}{fast:>10.0f}{slow:>10.0f}{comparison.gain:>8.2f}x{remark}"


def _summary_lines(rows: Iterable[Row], names: Sequence[str]) -> Iterator[str]:
    """For each optimization: the number of models with an effect and with a sufficient gain, and the best ones."""
    for name in names:
        gains = sorted((-comparison.gain, title) for title, comparison in rows if comparison.switch == name)
        sufficient = [(title, -gain) for gain, title in gains if -gain >= MIN_GAIN]
        best = ", ".join(f"{title} {gain:.2f}" for title, gain in sufficient[:5]) or "none"
        yield f"{name:22}of use to {len(gains):3}, {MIN_GAIN}x or more for {len(sufficient):3}: {best}"
