"""A course as HTML pages: complete, usable without a network, and with the answers on a separate page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import BROWSER
from loopdbg.debugger.lessons.course.catalog import COURSE, LESSONS_BY_NUMBER
from loopdbg.debugger.lessons.html_pages import write_course
from loopdbg.debugger.lessons.lesson import Quiz

#: Void elements.
VOID = {"meta", "br", "link", "img"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    return {path.name: path.read_text(encoding="utf-8") for path in write_course(COURSE, folder, 3)}


class HtmlNestingChecker(HTMLParser):
    """Checks that every element is closed, and collects link targets."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_each_lesson_has_a_page_with_pictures_of_its_loops(pages: Mapping[str, str]) -> None:
    assert [*pages] == ["index.html", *(f"lesson-{number:02}.html" for number in LESSONS_BY_NUMBER), "answers.html"]
    for number, lesson in LESSONS_BY_NUMBER.items():
        page = pages[f"lesson-{number:02}.html"]
        pictures = 0 if isinstance(lesson, Quiz) else max(len(lesson.scenes), 1)
        assert page.count("<figure>") == pictures and page.count("<svg") >= pictures, number
        assert page.count("<pre>") >= pictures
        assert lesson.title in unescape(page) and lesson.title in unescape(pages["index.html"])


def test_pages_are_well_formed_and_need_no_network(pages: Mapping[str, str]) -> None:
    for name, page in pages.items():
        nesting = HtmlNestingChecker()
        nesting.feed(page)
        assert not nesting.open, name
        assert all(link in pages for link in nesting.links), nesting.links
        results = set(re.findall(r"https?://[^\s\"'<]+", page))
        assert results <= {"http://www.w3.org/2000/svg"}, results
        assert "<script" not in page and "@import" not in page


def test_answers_are_only_on_their_page(pages: Mapping[str, str]) -> None:
    answers = unescape(pages["answers.html"])
    rows = re.findall(r"<strong>(.+?)</strong>", answers)
    assert len(rows) > 120
    for number in (2, 7, 10, 18):
        page = unescape(pages[f"lesson-{number:02}.html"])
        assert page.count('<ol class="choices">') >= 3 and "Right" not in page
    quiz = unescape(pages["lesson-23.html"])
    assert quiz.count('<div class="question">') == 20 and "while loop" not in quiz


def test_questions_differ_within_a_course_and_between_seeds(tmp_path: Path, pages: Mapping[str, str]) -> None:
    asked = re.findall(r"<strong>1\.\d</strong> (.*?)</p>", pages["lesson-03.html"])
    assert len(asked) == len({*asked}) == 3
    again = {path.name: path.read_text(encoding="utf-8") for path in write_course(COURSE, tmp_path / "a", 3)}
    assert again == pages
    other = {path.name: path.read_text(encoding="utf-8") for path in write_course(COURSE, tmp_path / "b", 4)}
    assert other["lesson-03.html"] != pages["lesson-03.html"] and other["index.html"] == pages["index.html"]


@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
@pytest.mark.parametrize("name", ["index.html", "lesson-06.html", "lesson-15.html", "answers.html"])
def test_browser_shows_the_whole_page(name: str, pages: Mapping[str, str], tmp_path: Path) -> None:
    """Nothing is wider than the page, every picture has a size, and all its texts are visible."""
    assert BROWSER is not None
    script = """<pre id=answer></pre><script>
      const svgs = [...document.querySelectorAll('svg')].map(one => one.getBoundingClientRect());
      document.getElementById('answer').textContent = JSON.stringify({
        wide: document.documentElement.scrollWidth - window.innerWidth,
        small: svgs.filter(one => one.width < 50 || one.height < 50).length, count: svgs.length,
        text: document.body.innerText.length});</script></body>"""
    path = tmp_path / name
    path.write_text(pages[name].replace("</body>", script), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,800", "--dump-dom",
         f"--user-data-dir={tmp_path / 'user'}", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (result,) = re.findall(r'<pre id="answer">(.*?)</pre>', done.stdout, re.S)
    answer = json.loads(unescape(result))
    assert answer["wide"] <= 0 and answer["small"] == 0 and answer["text"] > 800
    assert answer["count"] == pages[name].count("<svg")
