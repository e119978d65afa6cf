"""docs/adapters.md states what the adapters report and do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import pytest

import adapters_page
from adapters_page import DEBUGPY_CAPABILITIES_PATH, PARTS, ROOT, TOKEN_COUNT

PAGE = ROOT / "docs" / "adapters.md"
TEXT = PAGE.read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+")
AGAIN = "python tests/support/adapters_page.py docs/adapters.md updates it"


def page_text(name: str) -> str:
    (result,) = [text for part, text in adapters_page.render_parts(TEXT) if part == name]
    return result


def test_page_has_every_part() -> None:
    assert [name for name, _ in adapters_page.render_parts(TEXT)] == list(PARTS)


def test_capability_table() -> None:
    assert page_text("capabilities") == adapters_page.capabilities(), AGAIN


def test_debugpy_capabilities() -> None:
    try:
        is_present = f"debugpy {version('debugpy')}"
    except PackageNotFoundError:
        pytest.skip("debugpy is not installed")
    others = json.loads(DEBUGPY_CAPABILITIES_PATH.read_text(encoding="utf-8"))
    if is_present not in others:
        pytest.skip(f"the page is about another version than {is_present}")
    assert others[is_present] == adapters_page.query_debugpy_capabilities()


def test_session_transcript() -> None:
    """A conditional breakpoint is hit, a step goes back, a value is changed, and the model runs to its end."""
    now = adapters_page.session_transcript()
    assert page_text("session") == now, AGAIN
    events = [line for line in now.splitlines() if line.startswith("⇐")]
    assert ["breakpoint" in events[0], "step" in events[1], "ran to its end" in events[2]] == [True] * 3
    assert "refused" not in now


@pytest.fixture
def agents() -> Iterator[None]:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    yield


@pytest.mark.parametrize("name", ["tools", "hunts"])
def test_agent_tools_and_answers(name: str, agents: None) -> None:
    now, then = PARTS[name](), page_text(name)
    if not adapters_page.tokenizer_available():
        now, then = TOKEN_COUNT.sub("", now), TOKEN_COUNT.sub("", then)
    assert NUMBER.sub("", now) == NUMBER.sub("", then), AGAIN
    # Answers contain computed numbers, whose last digits depend on the processor.
    counted = [list(map(int, NUMBER.findall(text))) for text in (now, then)]
    assert counted[0] == pytest.approx(counted[1], rel=0.01 if name == "hunts" else 0), AGAIN


def test_token_counts_of_the_page() -> None:
    counted = [int(item.split()[0]) for name in ("tools", "hunts") for item in TOKEN_COUNT.findall(page_text(name))]
    assert len(counted) >= 25 and min(counted) > 20
