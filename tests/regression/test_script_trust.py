"""A model that is a Python script ran wherever it was named, in CI and for pages of a browser too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cli_runner import run_cli

SCRIPT = """
from pathlib import Path
import tensorrt as trt

Path(__file__).with_suffix(".ran").touch()


def build(network):
    x = network.add_input("x", trt.float32, (2,))
    network.mark_output(network.add_identity(x).get_output(0))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "network.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


class InteractiveInput(io.StringIO):
    """Someone who types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "words", [("info",), ("explain",), ("run",), ("diff", "same"), ("plot", "-o", "x.png"), ("serve",)]
)
def test_in_ci_it_is_refused(
    script: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # a pipe
    ran = run_cli(capsys, words[0], script, *(script if word == "same" else word for word in words[1:]))
    assert ran.status == 2
    assert "--trust-script lets it run" in ran.error_line
    assert not script.with_suffix(".ran").exists()


def test_serve_refuses_it_everywhere(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--trust-script" in run_cli(capsys, "serve", script).error_line


def test_it_runs_where_it_is_trusted(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(capsys, "info", script).status == 0
    monkeypatch.setenv("CI", "1")
    assert run_cli(capsys, "info", script, "--trust-script").status == 0


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 2), ("", 2)])
def test_a_person_is_asked(
    script: Path, answer: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("sys.stdin", InteractiveInput(f"{answer}\n"))
    monkeypatch.setattr("sys.stderr", InteractiveInput())
    assert run_cli(capsys, "info", script).status == status
    assert script.with_suffix(".ran").exists() is (status == 0)
