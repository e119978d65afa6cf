"""A browser without a window, for what only a browser can tell of a picture."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (found := shutil.which(name))),
    None,
)


def asked(svg: str, script: str, folder: Path) -> Any:
    """What a function of JavaScript answers of an SVG, which stands in a page by itself: ``root => ...``."""
    assert BROWSER is not None
    page = folder / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body>{svg}<pre id=answer></pre><script>"
        f"document.getElementById('answer').textContent = JSON.stringify(({script})(document.querySelector('svg')));"
        "</script>",
        encoding="utf-8",
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        f"--user-data-dir={folder / 'user'}",
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    (answer,) = re.findall(r"<pre id=\"answer\">(.*?)</pre>", done.stdout, re.S)
    return json.loads(unescape(answer))
