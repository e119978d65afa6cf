"""Settings: what the file may contain, what overrides it, and how settings are listed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import run_cli, run_python_code, start_cli, wait_for_exit
from loopdbg.runtime.errors import UsageError
from loopdbg.tui import config, user_state
from loopdbg.tui.cli.ansi_colors import colorize
from pseudo_terminal import open_loopdbg
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write the user's config file."""
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def written(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


Write = Callable[[str], Path]


def test_config_values_are_read(write: Write) -> None:
    write('theme = "light"\ncolor = "never"\nrtol = 1e-3\natol = 0\npeer = "openvino:GPU"\n[keys]\nstep = "f10"\n')
    assert [config.setting_value(setting.name) for setting in config.SETTINGS] == [
        "light",
        "never",
        1e-3,
        0.0,
        "openvino:GPU",
    ]
    assert user_state.selected_theme() == "loopdbg-light" and user_state.keymap() == {"step": ("f10",)}


def test_missing_file_gives_defaults(write: Write) -> None:
    assert all(config.setting_value(setting.name) is None for setting in config.SETTINGS) and user_state.keymap() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('theme = "pink"', "theme = 'pink': it is 'dark' or 'light'"),
        ("color = true", "color = True: it is 'auto' or 'never'"),
        ("rtol = -1", "rtol = -1: it is a number from 0 on, such as 1e-4"),
        ("atol = nan", "atol = nan: it is a number from 0 on, such as 1e-4"),
        ("rtol = true", "rtol = True: it is a number"),
        ('peer = "tensorrt"', "peer = 'tensorrt': it is a runtime: 'onnxruntime', 'openvino'"),
        ('peer = "openvino:"', "peer = 'openvino:': it is a runtime"),
        ("peer = []", r"peer = \[\]: it is a runtime"),
        ('them = "dark"', "there is no setting 'them'; did you mean 'theme'"),
        ("zzzzzzz = 1", "there is no setting 'zzzzzzz'; loopdbg config lists them"),
    ],
)
def test_invalid_config_is_one_error(text: str, message: str, write: Write) -> None:
    path = write(text)
    with pytest.raises(UsageError, match=message) as raised:
        config.read_config()
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


@pytest.mark.parametrize("words", [["config"], ["diff", NEWTON, NEWTON]])
def test_commands_report_an_invalid_config(words: list[str], write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("rtol = -1")
    ran = run_cli(capsys, *words)
    assert ran.status == 2 and ran.error_line.startswith(f"{path}: rtol = -1: ")


def test_config_list(write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write('rtol = 1e-4\n[keys]\nstep = ["f10", "s"]\n')
    ran = run_cli(capsys, "config")
    rows = {line.split()[0]: line for line in ran.out.splitlines()}
    assert ran.status == 0 and rows.keys() == {*(setting.name for setting in config.SETTINGS), "keys", "file:"}
    assert re.match(rf"rtol +0\.0001 +{re.escape(str(path))} +the relative tolerance", rows["rtol"])
    assert re.match(r"theme +- +not set: the one chosen last ", rows["theme"])
    assert re.match(rf"keys +step=f10 s +{re.escape(str(path))} ", rows["keys"])
    assert rows["file:"] == f"file: {path}"
    monkeypatch.setenv("NO_COLOR", "1")
    report = json.loads(run_cli(capsys, "config", "--json").out)
    assert report["file"] == str(path) and report["exists"] is True
    assert report["settings"]["rtol"] == {"value": 1e-4, "from": str(path)}
    assert report["settings"]["color"] == {"value": "never", "from": "NO_COLOR"}


def test_unknown_keys_are_listed(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write('[keys]\nstepp = "x"\n')
    assert "there is no action 'stepp'; did you mean 'step'" in run_cli(capsys, "config").error_line


def test_configured_tolerance_is_used(write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import numpy as np

    reference = tmp_path / "wrong.npz"
    np.savez(reference, x=np.float32([1.6, 1.4, 1.4, 1.4, 1.4]))
    words = ("diff", NEWTON, reference, "--input", "a=2", "--input", "tol=1e-6")
    assert run_cli(capsys, *words).status == 6
    write("rtol = 0.1\n")
    assert run_cli(capsys, *words).status == 0
    assert run_cli(capsys, *words, "--rtol", "1e-6").status == 6, "an option goes before it"


def test_configured_peer_is_used(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="the peer onnxruntime is not installed")
    words = ("diff", NEWTON, "--input", "a=2", "--input", "tol=1e-6")
    assert "diff needs two things to compare" in run_cli(capsys, *words).error_line
    write('peer = "onnxruntime"\n')
    ran = run_cli(capsys, *words)
    assert ran.status == 0 and ran.out.startswith("same: newton_sqrt.onnx and onnxruntime ")


# ------------------------------------------------------------------ colours


@pytest.mark.parametrize(
    ("terminal", "environment", "file", "colours", "by"),
    [
        (True, {}, "", True, "default"),
        (False, {}, "", False, "no terminal"),
        (True, {"NO_COLOR": "1"}, "", False, "NO_COLOR"),
        (True, {"NO_COLOR": ""}, "", True, "default"),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, "", False, "NO_COLOR"),
        (False, {"FORCE_COLOR": "1"}, 'color = "never"', True, "FORCE_COLOR"),
        (True, {"FORCE_COLOR": "0"}, "", False, "FORCE_COLOR"),
        (True, {"TERM": "dumb"}, "", False, "TERM"),
        (True, {}, 'color = "never"', False, "config.toml"),
        (True, {}, 'color = "auto"', True, "config.toml"),
    ],
)
def test_color_mode_precedence(
    terminal: bool, environment: dict[str, str], file: str, colours: bool, by: str, write: Write
) -> None:
    write(file)
    decided, what = config.color_decision(terminal, environment)
    assert decided is colours and what.endswith(by)


@pytest.mark.parametrize(
    "line",
    [
        "▶   8  magnitude = abs(q)",
        "    7      q = h / s   │ [inf, -inf, nan, 1.0]",
        "    3  h = h0                # initial value",
        "loopdbg: no such file",
        "note: odd",
        "x   float32 [2]   [nan, 1.0]",
    ],
)
def test_coloured_line_has_the_plain_text(line: str) -> None:
    assert colorize(line) != line and _STYLE.sub("", colorize(line)) == line
    assert colorize(line).endswith("\x1b[0m") or "\x1b[0m" in colorize(line)


@pytest.mark.parametrize(
    "line", ["root   float32 []    1.4142135", "nandini = inflate(x)", "loop 'nan' of nan_count", ""]
)
def test_ordinary_text_has_no_colours(line: str) -> None:
    assert colorize(line) == line


def test_run_uses_colours_only_on_a_terminal(tmp_path: Path) -> None:
    words = ("run", str(NEWTON), "--break", "err < 1e-3", "-ex", "continue")
    with open_loopdbg(tmp_path, *words, columns=120) as result:
        assert result.wait_until_exit() == 3
        assert "\x1b[1mbreakpoint 1 (" in result.output
    with open_loopdbg(tmp_path, *words, columns=120, NO_COLOR="1") as result:
        assert result.wait_until_exit() == 3
        assert "breakpoint 1 (" in result.output and not _STYLE.search(result.output)
    assert not _STYLE.search(wait_for_exit(start_cli(*words)).out)
    assert "\x1b[1mbreakpoint 1 (" in wait_for_exit(start_cli(*words, environment={"FORCE_COLOR": "1"})).out


def test_json_has_no_colours() -> None:
    ran = wait_for_exit(start_cli("run", NEWTON, "--json", environment={"FORCE_COLOR": "1"}))
    assert ran.status == 0 and json.loads(ran.out)["outputs"].keys() == {"root", "xs"}


def test_piped_command_reads_no_settings() -> None:
    code = "import sys\nfrom loopdbg.tui.cli import main\nmain(sys.argv[1:])\nprint('tomllib' in sys.modules)"
    ran = run_python_code(code, "run", NEWTON)
    assert ran.out.splitlines()[-1] == "False"
