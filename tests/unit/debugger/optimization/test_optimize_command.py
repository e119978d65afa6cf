"""``loopdbg optimize``: its report, files, errors and interruption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.optimization import api
from optimization_models import write_model
from text_models import SAMPLES

QUICK = ("--count", 60, "--seconds", 2)


def test_report_and_saved_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "measure_gain", lambda *args: 1.25)
    saved = tmp_path / "faster.onnx"
    ran = run_cli(capsys, "optimize", SAMPLES / "newton_sqrt.onnx", *QUICK, "-o", saved)
    assert ran.status == 0 and ran.out.startswith("newton_sqrt.onnx: 1 optimization\n\nunread-carried in main ▸ sqrt\n")
    assert ran.out.endswith(f"saved as {saved}, with 1 rewrite\n")
    assert "err" not in [edge.param.name for edge in next(iter(loopdbg.load(saved).plan.loops)).loop.back_edges]


def test_peer_is_measured_where_it_is_installed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    ran = run_cli(capsys, "optimize", write_model("lstm", tmp_path), *QUICK, "--json")
    report = json.loads(ran.out)
    assert report["peer"] == "onnxruntime" and report["offered"][0]["peer_gain"] > 0


def test_only_lists_the_kinds_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "optimize", SAMPLES / "newton_sqrt.onnx", *QUICK, "--only", "lstm,map", "--json")
    assert (ran.status, json.loads(ran.out)["offered"]) == (0, [])


@pytest.mark.parametrize(
    ("name", "options", "status", "text"),
    [
        ("newton_sqrt.onnx", ("--only", "lstn"), 2, "lstm"),
        ("newton_sqrt.onnx", ("-o", "missing/a.onnx"), 2, "folder"),
        ("newton_sqrt.onnx", ("-o", "a.xml"), 2, ".onnx"),
        ("loop_for.xml", ("-o", "a.onnx"), 2, ".xml"),
        ("lessons/counter_trt.py", (), 2, "only ONNX models and OpenVINO IRs"),
        ("loop_infinite.xml", (), 4, "does not end"),
    ],
)
def test_wrong_usage_is_one_line(
    name: str, options: tuple[str, ...], status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_cli(capsys, "optimize", SAMPLES / name, *QUICK, *options)
    assert ran.status == status and text in ran.err.splitlines()[-1] and "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("gain", "peer_gain", "text"),
    [
        (0.5, None, "not offered: prefix-sum in main ▸ Loop_4: the same results, but slower: 0.50x in loopdbg"),
        (0.5, 0.9, "the same results, but slower: 0.50x in loopdbg, 0.90x in onnxruntime"),
        (0.5, 3.0, "  speed: 3.00x in onnxruntime, but slower: 0.50x in loopdbg"),
        (1.5, 3.0, "  speed: 1.50x in loopdbg, 3.00x in onnxruntime"),
    ],
)
def test_slower_rewrite_is_labelled_or_rejected(
    gain: float,
    peer_gain: float | None,
    text: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(api, "measure_gain", lambda *args: gain)
    monkeypatch.setattr(api, "measure_peer_gain", lambda *args: peer_gain)
    ran = run_cli(capsys, "optimize", write_model("prefix-sum", tmp_path), *QUICK, "--only", "prefix-sum")
    assert ran.status == 0 and any(line.endswith(text) for line in ran.out.splitlines())


def test_ctrl_c_prints_what_was_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_model("unread-carried", tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "measure_gain", interrupt)
    ran = run_cli(capsys, "optimize", path, *QUICK)
    assert ran.status == 130 and ran.out == f"{path.name}: 0 optimizations\ninterrupted: the rest was not tried\n"
    with pytest.raises(KeyboardInterrupt):
        loopdbg.load(path).optimizations(count=5, seconds=1, peer=False)


def test_rewrite_that_changes_results_is_not_offered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "loopdbg.debugger.optimization.unused_values._unread_edges", lambda _, loop: loop.back_edges[:1]
    )
    report = loopdbg.load(write_model("reduction", tmp_path)).optimizations(
        only=["unread-carried"], count=20, peer=False
    )
    (rejected,) = report.rejected
    assert (report.offered, rejected.kind) == ((), "unread-carried") and rejected.difference
