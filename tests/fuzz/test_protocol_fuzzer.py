"""Some hostile conversations with each server; ``protocol_fuzzer.py`` holds thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import start_python, wait_for_exit

SCRIPT = Path(__file__).with_name("protocol_fuzzer.py")
REQUIRED_MODULES = {"dap": "json", "mcp": "mcp", "serve": "textual_serve"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("dap", 60), ("mcp", 15), ("serve", 6)])
def test_hostile_conversations_cause_no_fault(kind: str, count: int) -> None:
    pytest.importorskip(REQUIRED_MODULES[kind])
    ran = wait_for_exit(start_python(SCRIPT, f"--{kind}", str(count), "--seed", "1"), 1000)
    assert ran.status == 0, ran.out + ran.err
    assert f"{kind}: {count} conversations, 0 faults" in ran.out


@pytest.mark.parametrize("kind", ["dap", "mcp", "serve"])
def test_ended_server_is_a_fault(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(REQUIRED_MODULES[kind])
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import protocol_fuzzer

    with protocol_fuzzer._started_fuzzer(kind) as server:
        server.check()
        (server._sandbox.folder / "ran").touch()
        with pytest.raises(protocol_fuzzer.ProtocolViolation, match="files were written"):
            server.check()
        server.process.kill()
        server.process.wait()
        with pytest.raises(protocol_fuzzer.ProtocolViolation, match="the server ended"):
            server.check()
