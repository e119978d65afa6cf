"""``loopdbg sweep``: exit statuses, the report, and the commands that open its findings."""

from __future__ import annotations

import json
import shlex
import signal
import time
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_runner import CliResult, run_cli, start_cli, wait_for_exit
from loopdbg.debugger.sweep import dask_cluster
from loopdbg.debugger.sweep.row import Status
from loopdbg.debugger.sweep.summary import HistogramBar, ModelSummary, histogram_bars
from loopdbg.debugger.sweep.worker_pool import RowBatch
from loopdbg.tui.cli.sweeps.execute import exit_status
from loopdbg.tui.cli.sweeps.progress import SweepCounter, SweepProgressLog
from sweep_cases import MAX_ITERATIONS, NEWTON, count_rows, write_tricky_cases

RANDOM = ("sweep", NEWTON, "--random", 8, "--max-iterations", MAX_ITERATIONS, "-j", 1)


def test_report_lists_statuses_iterations_and_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = tmp_path / "out.csv"
    ran = run_cli(capsys, *RANDOM, "--measure", "err", "-o", rows)
    assert ran.status == 4, "limits alone"
    lines = ran.out.splitlines()
    assert "on 8 cases of 'random-0': ok " in lines[0] and ", limit " in lines[0]
    assert lines[1] == "  iterations of 'main ▸ sqrt'"
    assert any(line.strip().startswith("err: ") for line in lines)
    assert f"8 rows in {rows}" in lines
    assert len(rows.read_text().splitlines()) == 9
    again = run_cli(capsys, *RANDOM, "-o", rows)
    assert (
        again.error_line
        == f"{rows.with_suffix('.sweepdb')} is there already: --resume goes on with it, --force starts again"
    )
    assert run_cli(capsys, *RANDOM, "--measure", "err", "-o", rows, "--resume").err.startswith("8 of 8 cases are in")


def opened(capsys: pytest.CaptureFixture[str], command: str, *more: str) -> CliResult:
    """The output of a command from a report, with further commands typed after it."""
    words = shlex.split(command)
    assert words[0] == "loopdbg" and "-i" in words
    words.remove("-i")  # no user types here
    return run_cli(capsys, *words[1:], *(word for text in more for word in ("-ex", text)), "--batch")


def test_reported_command_opens_failing_case(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, operators, cases = write_tricky_cases(tmp_path)
    for name in ("b_crashes", "d_hangs"):
        (cases / f"{name}.npz").unlink()
    words = ("--inputs", cases, "--operators", operators, "--assert", "h >= 0", "--break", "nan")
    ran = run_cli(capsys, "sweep", model, *words, "--max-iterations", 50, "-j", 1, "--json")
    assert ran.status == 7
    worst = {load["id"].rsplit("/", 1)[-1]: load for load in json.loads(ran.out)["worst"]}
    assert [item["status"] for item in worst.values()][:4] == ["error", "assert", "break", "limit"]
    nan = opened(capsys, worst["f_overflows"]["command"], "print iter")
    assert nan.status == 3 and "gave NaN or Inf in iteration 1" in nan.out
    failed = opened(capsys, worst["h_negative"]["command"])
    assert failed.status == 7 and "iteration 0" in failed.err
    endless = opened(capsys, worst["e_endless"]["command"], "print iter")
    assert endless.status == 0 and "50" in endless.out.splitlines()


def test_single_case_is_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "all.npz"
    np.savez(path, a=np.float32([4, 9, 16]), tol=np.float32([1e-6] * 3))
    ran = run_cli(capsys, "run", NEWTON, "--inputs", path, "--batched", "--case", "x/all/1", "--json")
    assert json.loads(ran.out)["outputs"]["root"]["mean"] == 3.0
    ran = run_cli(capsys, "run", NEWTON, "--inputs", path, "--batched", "--case", "3")
    assert (ran.status, ran.error_line) == (2, "all has no case '3'; they are numbered 0 to 2")
    for words, why in (
        (("--case", "1"), "give the set of them as --inputs SET"),
        (("--inputs", path, "--batched"), "say which case as --case N"),
        (("--at", "soon"), "neither 'first' nor an iteration"),
    ):
        assert why in run_cli(capsys, "run", NEWTON, *words).error_line


@pytest.mark.parametrize(
    ("text", "message"),
    [("first", "gave NaN or Inf in iteration 137"), ("5", "iteration 5"), ("normalise:7", "iteration 7")],
)
def test_session_starts_at_given_position(capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    model = Path(NEWTON).with_name("vanishing_scale.onnx")
    assert message in run_cli(capsys, "run", model, "--at", text, "--batch").out


def test_ci_report_is_valid(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    run_cli(capsys, *RANDOM, "--junit", report)
    suite = xml.etree.ElementTree.parse(report).getroot()[0]
    assert suite.get("tests") == "8"
    failed = [case for case in suite if case.find("failure") is not None]
    assert len(failed) == int(suite.get("failures") or 0) > 0
    message = failed[0].find("failure")
    assert message is not None and message.text is not None and "loopdbg run" in message.text


@pytest.mark.parametrize("suffix", ["csv", "parquet", "sweepdb"])
def test_only_rows_of_a_sweep_are_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    rows, other, neighbor = tmp_path / f"out.{suffix}", tmp_path / "notes.txt", tmp_path / "out.sweepdb"
    other.write_text("mine")
    rows.write_text("id,mine\n1,2\n")
    for words in ((), ("--force",)):
        assert f"{rows}" in run_cli(capsys, *RANDOM, "-o", rows, *words).error_line
        assert rows.read_text() == "id,mine\n1,2\n", "not what a sweep wrote"
    rows.unlink()
    assert run_cli(capsys, *RANDOM, "-o", rows).status == 4
    if suffix != "sweepdb":
        neighbor.unlink()
        assert run_cli(capsys, *RANDOM, "-o", rows).error_line.endswith(
            "--force overwrites the rows of an earlier sweep"
        )
    before = rows.read_bytes()
    assert run_cli(capsys, *RANDOM, "--seed", 5, "-o", rows, "--force").status == 4
    assert rows.read_bytes() != before
    assert {path.name for path in tmp_path.iterdir()} == {rows.name, other.name, neighbor.name}
    assert other.read_text() == "mine"


def test_rows_are_plotted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = tmp_path / "out.csv"
    run_cli(capsys, *RANDOM, "--measure", "err", "-o", rows)
    for path in (rows, rows.with_suffix(".sweepdb")):
        picture = tmp_path / f"{path.suffix[1:]}.png"
        assert run_cli(capsys, "plot", path, "-o", picture).status == 0
        assert picture.read_bytes()[:4] == b"\x89PNG"
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    ran = run_cli(capsys, "plot", tmp_path / "other.csv", "-o", tmp_path / "x.png")
    assert ran.error_line.endswith("holds no rows of a sweep: it has no column 'id'")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--seed", "3"), "they need --random N"),
        (("--random", "3", "--inputs", "x"), "use one or the other"),
        (("--resume",), "--resume needs -o FILE"),
        (("--random", "3", "-o", "x.npz"), "written as .parquet or .csv"),
        (("--random", "3", "--dask", "tcp://127.0.0.1:1"), "no Dask scheduler answers"),
    ],
)
def test_invalid_sweep_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    if "--dask" in words:
        pytest.importorskip("distributed", reason="a cluster needs distributed")
        monkeypatch.setattr(dask_cluster, "_CONNECT_TIMEOUT_SECONDS", 0.2)
    ran = run_cli(capsys, "sweep", NEWTON, "--max-iterations", MAX_ITERATIONS, *words)
    assert ran.status == 2 and why in ran.error_line


def test_ctrl_c_keeps_finished_cases_and_prints_how_to_resume(tmp_path: Path) -> None:
    rows = tmp_path / "out.sweepdb"
    process = start_cli("sweep", NEWTON, "--random", 10**6, "--max-iterations", MAX_ITERATIONS, "-j", 1, "-o", rows)
    while count_rows(rows) == 0:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    ran = wait_for_exit(process)
    assert ran.status == 130
    assert f"cases are done and kept in {rows}; the same command with --resume goes on" in ran.err
    assert count_rows(rows) > 0


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ("ok", 0),
        ("ok limit timeout", 4),
        ("limit error", 1),
        ("killed", 1),
        ("error differs", 6),
        ("differs break", 3),
        ("break assert", 7),
    ],
)
def test_exit_statuses_of_a_sweep(statuses: str, status: int) -> None:
    counts = {Status(word): 1 for word in statuses.split()}
    assert exit_status([ModelSummary("m", "c", 2, counts, 0.0, [])]) == status


def test_progress_lines_without_a_terminal() -> None:
    clock = SimpleNamespace(now=0.0)
    messages: list[str] = []
    count = SweepCounter(1000, SweepProgressLog(lambda: clock.now, messages.append).log)
    for now in (5.0, 10.0, 12.0, 20.0):
        clock.now = now
        count.add(RowBatch(0, 100, [(0, 0, "0", None, 1, None, "limit")]))
    assert messages == [
        "loopdbg: 200 of 1000 cases, 20/s, 40 s left; limit 2",
        "loopdbg: 400 of 1000 cases, 20/s, 30 s left; limit 4",
    ]


def test_bars_include_all_counts() -> None:
    assert histogram_bars([(3, 5), (9, 1)]) == [HistogramBar(3, 3, 5), HistogramBar(9, 9, 1)]
    for counts in (
        [(k, 2) for k in range(50)],
        [(2**k, 1) for k in range(20)],
        [(0, 9), *((k, 1) for k in range(5, 900))],
    ):
        result = histogram_bars(counts)
        assert len(result) <= 12
        assert sum(bar.count for bar in result) == sum(count for _, count in counts)
        assert result[0].low <= counts[0][0] and result[-1].high >= counts[-1][0]
