"""A minimal widget host: a page that loads the widget's module unchanged, and a server that synchronizes both sides.

It does only what a kernel and a front end do between them: trait changes on one side are sent to the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import WSMsgType, web

NAMES = ("view", "state", "request", "answer")
PAGE = """<!doctype html><meta charset="utf-8"><title>widget</title>
<style>:root { color-scheme: light dark; background: Canvas; color: CanvasText } body { margin: 16px }</style>
<div id="here"></div>
<script type="module">
  import widget from "/stepper.js";
  const socket = new WebSocket(`ws://${location.host}/traits`);
  const values = {}, heard = {}, changed = {};
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; changed[name] = value; },
    save_changes: () => {
      socket.send(JSON.stringify(changed));
      for (const name of Object.keys(changed)) delete changed[name];
    },
    on: (name, listen) => (heard[name] ??= []).push(listen),
    off: (name, listen) => { heard[name] = heard[name].filter((one) => one !== listen); },
  };
  let end;
  window.leave = () => end();
  socket.onmessage = async (event) => {
    const answer = JSON.parse(event.data);
    Object.assign(values, answer);
    if (!end) end = await widget.render({ model, el: document.getElementById("here") });
    else for (const name of Object.keys(answer)) for (const listen of heard[`change:${name}`] ?? []) listen();
  };
</script>"""


@contextlib.asynccontextmanager
async def serve_notebook_widget(widget: Any) -> AsyncIterator[str]:
    """Serve a page that shows a widget; returns its address."""
    app = web.Application()
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    widget.observe(lambda change: sent.put_nowait({change["name"]: change["new"]}), ["view", "state", "answer"])

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    async def module(request: web.Request) -> web.Response:
        return web.Response(text=str(widget._esm), content_type="text/javascript")

    async def traits(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({name: getattr(widget, name) for name in NAMES})
        sending = asyncio.create_task(_send(socket, sent))
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                widget.set_state(json.loads(message.data))
        sending.cancel()
        return socket

    app.add_routes([web.get("/", page), web.get("/stepper.js", module), web.get("/traits", traits)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def _send(socket: web.WebSocketResponse, queue: asyncio.Queue[dict[str, Any]]) -> None:
    while True:
        await socket.send_json(await queue.get())
