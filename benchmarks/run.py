"""Time per iteration of loopdbg, ONNX Runtime, OpenVINO and compiled C on the same loops.

python benchmarks/run.py                       every case and cost against size, 1 thread each
python benchmarks/run.py --threads both        1 thread, then each runtime's default
python benchmarks/run.py --case lstm --no-sizes
python benchmarks/run.py --json real_report.json --figure docs/benchmarks.svg
python benchmarks/run.py --record              record the figures of this version (benchmarks/history)
python benchmarks/run.py --real                models as people export them; --real 'lstm*' vision llama/onnx/int8: some
python benchmarks/run.py --real --check        only correctness
python benchmarks/run.py --real --threads default    with all cores
python benchmarks/run.py --recurrent           LSTM, GRU and RNN of ONNX by hidden size, batch and steps
python benchmarks/run.py --roofline            the minimum time of these on this processor
python benchmarks/run.py --diff                the time to compare two models of 500 nodes
python benchmarks/run.py --screen              the cost of the screen: keys, stopping, live updates, 10^8 elements

Exit status: 1 if loopdbg failed on a case or gave another result than the peers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from report_schema import BenchmarkReport, ReportPart

# No import of NumPy at the top: the number of BLAS threads is fixed when it is imported.
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def main() -> int:
    """Run the command line."""
    parser = _parser()
    options = parser.parse_args()
    if options.threads != "both":
        _restart_with_threads(options.threads)
    if options.real is not None:
        return _run_real_models(options)
    if options.recurrent:
        import recurrent_sizes

        for line in recurrent_sizes.lines(options.quick, 1 if options.threads == "1" else None):
            print(line, flush=True)
        return 0
    if options.roofline is not None:
        import roofline

        for line in roofline.lines(options.roofline):
            print(line, flush=True)
        return 0
    if options.diff:
        import diff_times

        for line in diff_times.lines(options.quick):
            print(line, flush=True)
        return 0
    if options.screen:
        import screen_cost

        print("\n".join(screen_cost.lines(options.quick)))
        return 0

    from case_table import CASES

    if options.list:
        print("\n".join(CASES))
        return 0
    unknown = set(options.case or ()) - set(CASES)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if options.record and (options.case or options.quick or options.threads != "1"):
        parser.error("--record is of all cases, in full, with one thread")
    report = _run_both_thread_settings(options) if options.threads == "both" else _measure_cases(options)

    import report_table

    if options.json == "-":
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(report_table.lines(report)))
        if not (options.case or options.no_hooks):
            import hook_cost
            import tensorrt_overhead

            print("\n".join(["", *hook_cost.lines(options.quick), "", *tensorrt_overhead.lines(options.quick)]))
        if options.json:
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.figure:
        import report_figure

        report_figure.draw_report(report, options.figure)
    wrong = report_table.failures(report)
    if options.record and not wrong:
        import release_history

        release_history.draw_history(
            release_history.add_record(release_history.make_record(report, datetime.date.today()))
        )
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--threads", choices=("1", "default", "both"), default="1", help="threads of each runtime (default: 1)"
    )
    parser.add_argument("--case", action="append", metavar="NAME", help="only this case; repeatable")
    parser.add_argument("--list", action="store_true", help="list the cases, measure nothing")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--no-sizes", action="store_true", help="no cost against size")
    parser.add_argument("--no-hooks", action="store_true", help="no cost of debugging")
    parser.add_argument("--long", action="store_true", help="the scalar loop up to 10^8 iterations")
    parser.add_argument(
        "--real", nargs="*", metavar="MODEL", help="real models, all or these (names, families, patterns)"
    )
    parser.add_argument("--check", action="store_true", help="with --real: whether they run right, no times")
    parser.add_argument("--recurrent", action="store_true", help="the recurrent operators by size, and nothing else")
    parser.add_argument(
        "--roofline",
        nargs="*",
        metavar="MODEL",
        help="what recurrent operators could take at best",
    )
    parser.add_argument("--diff", action="store_true", help="how long comparing two models takes, and nothing else")
    parser.add_argument("--screen", action="store_true", help="what the screen costs, and nothing else")
    parser.add_argument("--json", metavar="FILE", help="also write the report as JSON; - writes it instead of tables")
    parser.add_argument("--record", action="store_true", help="also keep it as the figures of this version")
    parser.add_argument("--figure", metavar="PATH", type=Path, help="also draw it; the suffix is the format")
    return parser


def _run_real_models(options: argparse.Namespace) -> int:
    """Measure models as people export them."""
    try:
        import onnxscript  # noqa: F401
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        extra = "pip install '.[real]'"
        print(f"--real exports models from PyTorch, and {error.name} is not installed: {extra}", file=sys.stderr)
        return 2
    from real import real_report

    return real_report.main(options.real, options.check, options.quick, options.json)


def _restart_with_threads(threads: str) -> None:
    """Restart this program if the environment sets another number of BLAS threads."""
    environment = dict(os.environ)
    for name in THREAD_VARIABLES:
        if threads == "1":
            environment[name] = "1"
        else:
            environment.pop(name, None)
    if environment != dict(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def _run_both_thread_settings(options: argparse.Namespace) -> BenchmarkReport:
    """Run one process after the other: a process has one number of threads."""
    reports: list[BenchmarkReport] = []
    arguments = [f"--{name.replace('_', '-')}" for name in ("quick", "no_sizes", "long") if getattr(options, name)]
    arguments += [word for name in options.case or () for word in ("--case", name)]
    with tempfile.TemporaryDirectory() as folder:
        for threads in ("1", "default"):
            path = Path(folder) / f"{threads}.json"
            command = [sys.executable, __file__, *arguments, "--threads", threads, "--json", str(path)]
            status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
            if not path.exists():
                sys.exit(status or 1)
            reports.append(json.loads(path.read_text(encoding="utf-8")))
    return {"machine": reports[0]["machine"], "parts": [part for report in reports for part in report["parts"]]}


def _measure_cases(options: argparse.Namespace) -> BenchmarkReport:
    import machine_info
    import size_sweeps
    from case_table import CASES
    from measure import MeasuringEffort, case_report

    threads = 1 if options.threads == "1" else None
    effort = MeasuringEffort(1.0, 2, 5) if options.quick else MeasuringEffort()
    part: ReportPart = {"threads": options.threads, "cases": [], "sweeps": []}
    for name in options.case or CASES:
        _print_progress(name)
        part["cases"].append(case_report(CASES[name](), threads, effort))
    if not options.no_sizes:
        _print_progress("cost against size: iterations")
        part["sweeps"].append(size_sweeps.sweep_iterations(threads, options.quick, options.long))
        _print_progress("cost against size: hidden size")
        part["sweeps"].append(size_sweeps.sweep_hidden_sizes(threads, options.quick))
    _print_progress("")
    return {"machine": machine_info.describe(), "parts": [part]}


def _print_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
