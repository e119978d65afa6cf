"""A page of another origin, in a real browser, sends what it can to every port: nothing comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual_serve")

from browser import BROWSER, open_page
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
#: What a page of another origin can send: each gives "refused", or what it could read.
SCRIPT = """
async (port, body) => {
  const address = `http://127.0.0.1:${port}/`;
  const text = (part) => fetch(address, part).then((answer) => answer.text(), () => "refused");
  const plain = {method: "POST", headers: {"Content-Type": "text/plain"}, body};
  const results = [await text({}), await text(plain), await text({...plain, credentials: "include"})];
  // Without CORS the request is sent, and the answer cannot be read.
  const opaque = await fetch(address, {...plain, mode: "no-cors"}).then((answer) => answer.type, () => "refused");
  results.push(opaque === "opaque" ? "refused" : opaque);
  for (const path of ["", "ws", "ws/" + "0".repeat(32)]) {
    results.push(await new Promise((done) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/${path}`);
      socket.onopen = () => done("a web socket is open");
      socket.onerror = () => done("refused");
    }));
  }
  const form = document.body.appendChild(document.createElement("form"));
  results.push(await new Promise((done) => {
    const frame = Object.assign(document.createElement("iframe"), {name: "target"});
    document.body.appendChild(frame);
    frame.onload = () => {
      if (!form.sent) return;
      let text = "refused";
      try { text = frame.contentDocument.body.innerText || "refused"; } catch {}
      frame.remove();
      done(text);
    };
    Object.assign(form, {method: "POST", action: address, enctype: "text/plain", target: "target"});
    const field = form.appendChild(document.createElement("input"));
    Object.assign(field, {name: body, value: ""});
    form.sent = true;
    form.submit();
  }));
  await new Promise((done) => {
    const image = new Image();
    image.onload = image.onerror = done;
    image.src = address;
  });
  return results;
}
"""


class OtherOriginHandler(BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body></body>")

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextlib.contextmanager
def other_origin() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherOriginHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


#: Programs that open a port and print it.
_WAITS = f"""
import loopdbg, loopdbg.editor
session = loopdbg.debug({NEWTON!r}, {{"a": 2.0, "tol": 1e-6}})
loopdbg.editor.wait_for_editor(session, 0, on_port=lambda port: print(f"127.0.0.1:{{port}}", flush=True))
"""
_CLUSTER = """
import socket, sys
from loopdbg.debugger.sweep.dask_cluster import DaskCluster
if __name__ == "__main__":
    with DaskCluster("local", [], 1) as cluster:
        print(cluster._local.scheduler.http_server.port, file=sys.stderr)
        print(f"127.0.0.1:{cluster._local.scheduler.http_server.port}", flush=True)
        sys.stdin.read()
"""
SERVERS = {
    "dap": ["-m", "loopdbg", "dap", "--port", "0", "--trust-script"],
    "wait_for_editor": ["-c", _WAITS],
    "serve": ["-m", "loopdbg", "serve", NEWTON],
    "sweep --dask local": ["-c", _CLUSTER],
}


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser here")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_page_of_another_origin_reaches_nothing(name: str, tmp_path: Path) -> None:
    if "dask" in name:
        pytest.importorskip("distributed", reason="a cluster needs distributed")
    script = tmp_path / "net.py"
    script.write_text("open('ran', 'w').close()\n")
    message = {"seq": 1, "type": "request", "command": "launch"}
    body = json.dumps({**message, "arguments": {"program": str(script), "trustScript": True}})
    framed = f"Content-Length: {len(body)}\r\n\r\n{body}"
    process = subprocess.Popen(
        [sys.executable, *SERVERS[name]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "LOOPDBG_CONFIG_DIR": str(tmp_path)},
    )
    try:
        assert process.stdout is not None
        match = re.search(rb"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert match
        port = int(match[1])
        while True:  # serve prints its address before it listens
            with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
                break
        with other_origin() as address:
            async with open_page() as opened:
                await opened.navigate(address)
                await opened.wait("document.body !== null")
                for text in (body, framed):
                    results = await opened.value(f"({SCRIPT})({port}, {json.dumps(text)})")
                    assert len(results) == 8 and set(results) == {"refused"}
        assert process.poll() is None, "the server goes on"
        assert [path.name for path in tmp_path.iterdir()] == ["net.py"], "nothing ran and nothing was written"
    finally:
        process.kill()
        process.communicate()
