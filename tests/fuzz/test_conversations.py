"""Some hostile conversations with each server; ``conversations.py`` holds thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import finish, python

SCRIPT = Path(__file__).with_name("conversations.py")
NEEDS = {"dap": "json", "mcp": "mcp", "serve": "textual_serve"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("dap", 60), ("mcp", 15), ("serve", 6)])
def test_no_conversation_is_a_fault(kind: str, count: int) -> None:
    pytest.importorskip(NEEDS[kind])
    ran = finish(python(SCRIPT, f"--{kind}", str(count), "--seed", "1"), 1000)
    assert ran.status == 0, ran.out + ran.err
    assert f"{kind}: {count} conversations, 0 faults" in ran.out


@pytest.mark.parametrize("kind", ["dap", "mcp", "serve"])
def test_a_server_that_ends_is_a_fault(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS[kind])
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import conversations

    with conversations._running(kind) as server:
        server.check()
        (server._place.folder / "ran").touch()
        with pytest.raises(conversations.Fault, match="files were written"):
            server.check()
        server.process.kill()
        server.process.wait()
        with pytest.raises(conversations.Fault, match="the server ended"):
            server.check()
