"""The notebook in docs/, executed as a kernel executes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from text_models import SAMPLES

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

DOCS = SAMPLES.parent / "docs"
FILE = DOCS / "notebook.ipynb"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook with its outputs."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    book = nbformat.read(FILE, as_version=4)
    patch = pytest.MonkeyPatch()
    patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
    try:
        nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(DOCS)}}).execute()
    finally:
        patch.undo()
    return book


def outputs(book: Any, source: str) -> dict[str, str]:
    """The output of the cell that contains a text, by type; text printed earlier is under ``text/plain``."""
    cell = next(
        cell_value for cell_value in book.cells if cell_value.cell_type == "code" and source in cell_value.source
    )
    results: dict[str, str] = {}
    for output in cell.outputs:
        for kind, text in ({"printed": output.text} if output.output_type == "stream" else output.data).items():
            results[kind] = str(text)
    return results


def test_cells_print_the_expected_text(ran: Any) -> None:
    html = "text/html"
    assert "main ▸ sqrt" in outputs(ran, "import loopdbg")[html]
    assert "while keep:" in outputs(ran, "model.explain()")[html]
    assert "1.4142135" in outputs(ran, "model.execute")[html]
    assert "before iteration 3" in outputs(ran, "session.step(3)")[html]
    assert "err_new &gt; tol" in outputs(ran, "session.why()")[html]
    assert "before iteration 2" in outputs(ran, 'widget.do("back")')[html]
    assert "gave NaN or Inf in iteration 137" in outputs(ran, "reverse_continue")[html]
    assert "magnitude = abs(q)" in outputs(ran, "hunt.listing()")[html]
    assert "first differ in iteration 2" in outputs(ran, "session.compare()")["printed"]
    assert outputs(ran, "found = loopdbg.diff")["printed"] == "2 x\n"
    assert "first difference" in outputs(ran, "found = loopdbg.diff")[html]
    assert "image/png" in outputs(ran, "loopdbg.plot")


def test_notebook_has_one_widget_with_its_page(ran: Any) -> None:
    shown = outputs(ran, "session.widget()")
    assert "application/vnd.jupyter.widget-view+json" in shown
    states = ran.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    (state,) = [state_value["state"] for state_value in states.values() if "view" in state_value["state"]]
    assert "before iteration 2" in state["view"]["stop"] and "loopdbg-stepper" in state["_esm"]
    assert "://" not in state["_esm"].replace("http://www.w3.org/2000/svg", ""), "nothing is loaded"


def test_committed_notebook_has_no_outputs() -> None:
    book = nbformat.read(FILE, as_version=4)
    nbformat.validate(book)
    assert [
        cell.source for cell in book.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)
    ] == []
    assert str(Path.home()) not in FILE.read_text(encoding="utf-8")
