"""The screen on terminals with limited character sets, colours or capabilities."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from loopdbg.tui.cli import terminal as signs
from pseudo_terminal import open_loopdbg, strip_escapes
from text_models import SAMPLES


def on_a_terminal(folder: Path, until: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Open a sample, or another command line, in a terminal of 120x36, wait for a text, and press q; returns the exit
    status and the output."""
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    asked = arguments or (str(SAMPLES / "newton_sqrt.onnx"),)
    with open_loopdbg(folder, *filter(None, asked), rows=36, columns=120, encoding=encoding, **environment) as result:
        message = ""
        if until:
            message = result.wait(lambda seen: until in seen)
            result.press("q")
        return result.wait_until_exit(), message + result.output


@pytest.mark.parametrize("arguments", [(str(SAMPLES / "newton_sqrt.onnx"),), ("learn",), ("learn", "3"), ("",)])
def test_dumb_terminal_message_has_no_escapes(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    status, message = on_a_terminal(tmp_path, "", *arguments, TERM="dumb")
    assert status == 1 and "\x1b" not in message
    assert message.strip().count("\n") == 0 and message.startswith("loopdbg: the debugger draws on the whole screen")


def test_latin_1_terminal_gets_replacement_symbols(tmp_path: Path) -> None:
    status, message = on_a_terminal(tmp_path, "Source", PYTHONIOENCODING="latin-1")
    assert status == 0 and "+- 1 Source" in strip_escapes(message)
    # The opened model is remembered.
    assert "newton_sqrt.onnx" in (tmp_path / "state.json").read_text(encoding="utf-8")


def test_lessons_on_a_latin_1_terminal(tmp_path: Path) -> None:
    status, message = on_a_terminal(tmp_path, "Back edges", "learn", "1", PYTHONIOENCODING="latin-1")
    assert status == 0 and "+- Lesson 1 of 29" in strip_escapes(message)


def test_terminals_with_eight_colours_and_with_none(tmp_path: Path) -> None:
    status, message = on_a_terminal(tmp_path, "Source", TERM="xterm", COLORTERM="")
    assert status == 0 and "38;2;" not in message and "Source" in message
    status, message = on_a_terminal(tmp_path, "Source", NO_COLOR="1", COLORTERM="truecolor")
    colours = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", message))
    assert status == 0 and all(red == green == blue for red, green, blue in colours)


def test_invalid_config_file_is_one_line_before_anything_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[keys]\nstepp = "x"\n', encoding="utf-8")
    status, message = on_a_terminal(tmp_path, "")
    assert status == 2 and "\x1b" not in message
    assert message.startswith(f"loopdbg: {tmp_path / 'config.toml'}: there is no action 'stepp'; did you mean 'step'")


def test_every_replacement_symbol_has_one_cell() -> None:
    for sign, without in signs._ASCII_CELLS.items():
        assert len(without) == 1 and without.isascii() and cell_len(sign) == 1
    assert "│▶ ‥x…✎─".encode("latin-1", "loopdbg-screen") == b"|> :x.e-"
