"""An editor that attaches to the session of a Python program; inline values."""

from __future__ import annotations

import gc
import json
import shutil
import socket
import subprocess
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import loopdbg
import loopdbg.editor
from dap_client import RESPONSE_TIMEOUT_SECONDS, DapClient
from error_fields import raises_error
from text_models import SAMPLES

ROOT = Path(__file__).parents[5]
NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": 2.0, "tol": 1e-6}
TOKEN = "a token of a test"


class AttachedProgram:
    """A program that waits in a thread, and an editor that has attached."""

    def __init__(self, session: Any) -> None:
        ports: list[int] = []
        ready = threading.Event()

        def listens(port: int) -> None:
            ports.append(port)
            ready.set()

        waits = {"port": 0, "token": TOKEN, "timeout": RESPONSE_TIMEOUT_SECONDS, "on_port": listens}
        self.thread = threading.Thread(
            target=loopdbg.editor.wait_for_editor, args=(session,), kwargs=waits, daemon=True
        )
        self.thread.start()
        assert ready.wait(RESPONSE_TIMEOUT_SECONDS)
        self._connection = socket.create_connection(("127.0.0.1", ports[0]))
        self._stream = self._connection.makefile("rwb")
        self.client = DapClient(self._stream, self._stream)
        self.client.get("initialize", adapterID="loopdbg")
        self.client.get("attach", port=ports[0], token=TOKEN)
        self.client.event("initialized")
        self.client.get("configurationDone")
        self.where = self.client.event("stopped")["description"]

    def leave(self) -> None:
        self.client.get("disconnect")
        self.thread.join(RESPONSE_TIMEOUT_SECONDS)
        assert not self.thread.is_alive()
        self._connection.close()


def test_editor_and_program_share_position() -> None:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    session.breakpoints.add("iter 4")
    session.step(2)
    attached = AttachedProgram(session)
    assert attached.where == "before iteration 2 of loop 'sqrt'"
    client = attached.client
    client.get("setFunctionBreakpoints", breakpoints=[{"name": "iter 3"}])
    assert "before iteration 3" in client.move("continue")
    assert float(client.scope("Carried")["x"]) == pytest.approx(2**0.5, abs=1e-5)
    attached.leave()
    assert session.frame.iteration == 3
    assert [breakpoint.number for breakpoint in session.breakpoints] == [1], "those of the editor went with it"
    assert "before iteration 4" in session.continue_().text


def test_program_without_an_editor_times_out() -> None:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    with pytest.raises(loopdbg.UsageError, match=r"no editor came to port 0 within 0\.05 s"):
        loopdbg.editor.wait_for_editor(session, 0, timeout=0.05)


def test_port_in_use_is_reported() -> None:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with raises_error(loopdbg.UsageError, name=str(port), expected="a free port"):
            loopdbg.editor.wait_for_editor(session, port)
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always")
        with raises_error(loopdbg.UsageError, name="99999", expected="a free port"):
            loopdbg.editor.wait_for_editor(session, 99999)
        gc.collect()
    assert not unclosed


def test_inline_values() -> None:
    """They are the values that the console lists."""
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    attached = AttachedProgram(session)
    client = attached.client
    assert client.get("loopdbg/inline", frameId=1)["values"] == [], "nothing is computed yet"
    client.move("next")
    client.move("next")
    text = client.get("source", sourceReference=1)["content"].splitlines()
    values = client.get("loopdbg/inline")["values"]
    results = [(f"  {element['line']:>3}  {text[element['line'] - 1]}".rstrip(), element["text"]) for element in values]
    assert len(results) == 2
    assert "there is no frame 9" in client.ask("loopdbg/inline", frameId=9)["message"]
    attached.leave()
    listed = [line.partition(" │ ") for line in session.listing("all").lines()]
    assert [(line.rstrip(), value) for line, _, value in listed if value.strip("· ")] == results


#: Runs the VS Code extension with a stub of the editor API that it uses.
HARNESS = """
const Module = require("module");
const made = { providers: [], factories: [], configurations: [] };
const settings = { command: ["loopdbg"], trustScripts: false };
const nothing = () => ({ dispose() {} });
const vscode = {
  EventEmitter: class { event = nothing; fire() {} },
  DebugAdapterServer: class { constructor(port, host) { this.where = `${host}:${port}`; } },
  DebugAdapterExecutable: class { constructor(command, args) { this.where = [command, ...args].join(" "); } },
  InlineValueText: class { constructor(range, text) { this.shown_text = [range, text]; } },
  workspace: { getConfiguration: () => ({ get: (name) => settings[name] }) },
  window: { registerTreeDataProvider: nothing, showInputBox: async (asked) => `typed, ${asked.password}` },
  commands: { registerCommand: nothing },
  languages: { registerInlineValuesProvider: (selector, provider) => made.providers.push([selector, provider]) },
  debug: {
    registerDebugAdapterDescriptorFactory: (type, factory) => made.factories.push(factory),
    registerDebugConfigurationProvider: (type, provider) => made.configurations.push(provider),
    registerDebugAdapterTrackerFactory: nothing,
    activeDebugSession: {
      type: "loopdbg",
      customRequest: async (name, asked) => ({
        values: [{ line: 3, text: `${name} ${asked.frameId}` }, { line: 90, text: "out of sight" }],
      }),
    },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
require(process.argv[2]).activate({ subscriptions: [] });
(async () => {
  const [[selector, provider]] = made.providers;
  const where = (configuration) => made.factories[0].createDebugAdapterDescriptor({ configuration }).where;
  const view = { start: { line: 0 }, end: { line: 20 } };
  const document = { lineAt: (line) => ({ range: line }) };
  const shown_text = await provider.provideInlineValues(document, view, { frameId: 7 });
  const plain = [{ request: "launch" }, { request: "attach", trace: "a" }, { request: "attach", port: 5 }].map(where);
  settings.trustScripts = true;
  const resolve = made.configurations[0].resolveDebugConfiguration;
  const token = async (more) => (await resolve(undefined, { type: "loopdbg", name: "x", ...more })).token;
  delete process.env.LOOPDBG_DAP_TOKEN;
  const tokens = [await token({ port: 5, token: "own" }), await token({ port: 5 }), await token({ debugServer: 5 })];
  process.env.LOOPDBG_DAP_TOKEN = "of the environment";
  tokens.push(await token({ port: 5 }), (await token({ request: "launch" })) ?? "none");
  console.log(JSON.stringify({
    selector,
    shown_text: shown_text.map((one) => one.shown_text),
    where: [...plain, where({ request: "launch" })],
    tokens,
  }));
})();
"""


def test_vs_code_extension(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there")
    (tmp_path / "harness.cjs").write_text(HARNESS)
    command = [node, tmp_path / "harness.cjs", ROOT / "editors" / "vscode" / "extension.js"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=RESPONSE_TIMEOUT_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "selector": {"scheme": "debug"},
        "shown_text": [[2, "= loopdbg/inline 7"]],
        "where": ["loopdbg dap", "loopdbg dap", "127.0.0.1:5", "loopdbg dap --trust-script"],
        "tokens": ["own", "typed, true", "typed, true", "of the environment", "none"],
    }
