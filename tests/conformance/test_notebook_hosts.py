"""The widget where people have it: JupyterLab and marimo, each with its own server and kernel, in a real browser."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")
from browser import BROWSER, open_page
from text_models import SAMPLES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no browser here")]
SESSION = f"""\
import loopdbg
session = loopdbg.debug({str(SAMPLES / "newton_sqrt.onnx")!r}, {{"a": 2.0, "tol": 1e-6}})"""
STOP = "document.querySelector('.loopdbg-stepper .stop')?.textContent"


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@contextlib.asynccontextmanager
async def server(folder: Path, *words: str) -> AsyncIterator[str]:
    """The address of a server of notebooks; ``{port}`` in the words is where it listens."""
    with socket.create_server(("127.0.0.1", 0)) as result:
        port = result.getsockname()[1]
    env = {**os.environ, "HOME": str(folder), "IPYTHONDIR": str(folder), "JUPYTER_CONFIG_DIR": str(folder)}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *(word.format(port=port) for word in words)],
            cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        async with asyncio.timeout(400):
            while not await asyncio.to_thread(answers, address):
                assert process.poll() is None, (folder / "server.log").read_text()
                await asyncio.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait(120)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=20):
            return True
    except (urllib.error.URLError, OSError):
        return False


@needs("jupyterlab")
async def test_in_jupyterlab(tmp_path: Path) -> None:
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**code, "id": f"c{k}", "source": text} for k, text in enumerate((SESSION, "session.widget()"))]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    words = ("jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port={port}", "--IdentityProvider.token=")
    async with (
        server(tmp_path, *words, "--LabApp.expose_app_in_browser=True") as address,
        open_page() as shown,
    ):
        await shown.navigate(f"{address}/lab/tree/book.ipynb")
        await shown.wait("!!window.jupyterapp && document.querySelectorAll('.jp-CodeCell').length === 2", 400)
        await shown.wait("document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'", 400)
        await shown.value("window.jupyterapp.commands.execute('notebook:run-all-cells'), 1")
        await shown.wait(f"!!({STOP})", 400)
        await shown.click("[data-command=step]")
        await shown.wait(f"{STOP}.includes('iteration 1')")
        await shown.value("document.querySelector('.loopdbg-stepper').focus()")
        await shown.press("s", "s")
        await shown.wait(f"{STOP}.includes('iteration 2')")
        await shown.press("n", "n")
        await shown.wait(f"{STOP}.includes('Div')")
        assert await shown.value("document.querySelectorAll('.jp-CodeCell').length") == 2, "keys are the widget's alone"


@needs("marimo")
async def test_in_marimo(tmp_path: Path) -> None:
    cells = [SESSION + "\nimport marimo as mo", "mo.ui.anywidget(session.widget())"]
    bodies = [text.replace("\n", "\n    ") for text in cells]
    (tmp_path / "book.py").write_text(
        "import marimo\napp = marimo.App()\n\n"
        f"@app.cell\ndef _():\n    {bodies[0]}\n    return mo, session\n\n"
        f"@app.cell\ndef _(mo, session):\n    {bodies[1]}\n    return\n"
    )
    words = ("marimo", "run", "book.py", "--headless", "--no-token", "--port", "{port}", "--host", "127.0.0.1")
    # marimo puts a widget behind a shadow root.
    inside = "one.shadowRoot?.querySelector('.loopdbg-stepper')"
    find = f"[...document.querySelectorAll('*')].map((one) => {inside}).find(Boolean)"
    async with server(tmp_path, *words) as address, open_page() as shown:
        await shown.navigate(address)
        await shown.wait(f"!!({find} ?? document.querySelector('.loopdbg-stepper'))", 400)
        await shown.value(f"window.it = {find} ?? document.querySelector('.loopdbg-stepper'), 1")
        for k in (1, 2):
            await shown.value("it.querySelector('[data-command=step]').click()")
            await shown.wait(f"it.querySelector('.stop').textContent.includes('iteration {k}')")
        await shown.value("it.querySelector('[data-command=back]').click()")
        await shown.wait("it.querySelector('.stop').textContent.includes('iteration 1')")
