"""A key may arrive before a screen is composed; this must not be an internal error."""

from __future__ import annotations

import pytest

from loopdbg.tui.actions import ACTIONS
from loopdbg.tui.screens.help import HelpScreen


@pytest.mark.parametrize("where", ["up", "down", "page_up", "page_down", "home", "end"])
def test_help_scrolls_nothing_before_compose(where: str) -> None:
    help_screen = HelpScreen(ACTIONS)
    help_screen.action_scroll(where)
    assert not help_screen.children
