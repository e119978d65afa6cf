"""Shell completion, driven by the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import run_cli
from loopdbg.tui.cli import COMMANDS
from pseudo_terminal import start_command, strip_escapes

pytest.importorskip("shtab", reason="the extra completion is not installed")
SHELLS = ("bash", "zsh", "fish")


def has(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not there")
    return path


@pytest.fixture
def script(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    """The completion script of a shell, in a folder with some files."""
    shell = request.param
    ran = run_cli(capsys, "completion", shell)
    assert ran.status == 0 and ran.err == ""
    path = tmp_path / f"completion.{shell}"
    path.write_text(ran.out)
    for name in ("newton.onnx", "newton.xml", "newton.txt", "newton.npz", "ops.py"):
        (tmp_path / name).touch()
    return path


#: A command line, a candidate that it completes to, and a text that it does not.
CASES = [
    ("loopdbg ex", {"explain", "export", "extract"}, {"run"}),
    ("loopdbg newt", {"newton.onnx", "newton.xml"}, {"newton.txt", "newton.npz"}),
    ("loopdbg run newt", {"newton.onnx", "newton.xml"}, {"newton.txt", "newton.npz"}),
    ("loopdbg run newton.onnx --max", {"--max-iterations"}, {"--seed"}),
    ("loopdbg run newton.onnx --operators ", {"ops.py"}, {"newton.onnx"}),
    ("loopdbg run newton.onnx --requests ", {"newton.npz"}, {"newton.onnx"}),
    ("loopdbg explain newton.onnx --as ", {"onnx", "openvino", "tensorrt"}, {"newton.onnx"}),
    ("loopdbg newton.onnx --se", {"--seed"}, {"--json"}),
]
#: Bash calls the function of a command with the words in variables.
CALL = """
source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _shtab_loopdbg 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("line", "among", "absent"), CASES)
def test_bash_completes(line: str, among: set[str], absent: set[str], script: Path) -> None:
    command = [has("bash"), "--norc", "-c", CALL, "bash", script, *line.split(" ")]
    ran = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=120, check=False)
    results = set(ran.stdout.split())
    assert among <= results and not absent & results, ran


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("line", "among", "absent"), CASES)
def test_fish_completes(line: str, among: set[str], absent: set[str], script: Path) -> None:
    command = [has("fish"), "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    ran = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=120, check=False)
    results = {splitline.partition("\t")[0] for splitline in ran.stdout.splitlines()}
    assert among <= results and not absent & results, ran


PROMPT = "ready> "
#: What an interactive shell is given before it completes anything.
BEGIN = {
    "bash": "PS1='{prompt}'; bind 'set show-all-if-ambiguous on'; source {script}\n",
    "zsh": "PS1='{prompt}'; autoload -U compinit; compinit -u -d {script}.dump; eval \"$(cat {script})\"\n",
}
BARE = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


@pytest.mark.parametrize("script", ["bash", "zsh"], indirect=True)
def test_tab_completes_in_an_interactive_shell(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = script.suffix[1:]
    path = has(shell)
    monkeypatch.chdir(tmp_path)
    with start_command([path, *BARE[shell]], tmp_path, columns=200) as terminal:
        terminal.press(BEGIN[shell].format(prompt=PROMPT, script=script))
        terminal.wait(
            lambda seen: (
                strip_escapes(seen).count(PROMPT) > 1 or strip_escapes(seen).rstrip(" ").endswith(PROMPT.strip())
            )
        )
        terminal.press("loopdbg run newton.o\t")
        terminal.wait(lambda seen: "newton.onnx" in strip_escapes(seen))
        terminal.press("--max-it\t")
        terminal.wait(lambda seen: "--max-iterations" in strip_escapes(seen))
        terminal.press("\x15loopdbg newton.x\t")
        seen = terminal.wait(lambda seen: "newton.xml" in strip_escapes(seen))
        assert "newton.txt" not in strip_escapes(seen)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_completed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = run_cli(capsys, "completion", shell).out
    assert [name for name in COMMANDS if name not in message] == []


def test_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "invalid choice: 'csh'" in run_cli(capsys, "completion", "csh").error_line


def test_missing_completion_library_is_tolerated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = run_cli(capsys, "completion", "bash")
    assert (ran.status, ran.error_line) == (2, "completion needs the package shtab: pip install 'loopdbg[completion]'")
