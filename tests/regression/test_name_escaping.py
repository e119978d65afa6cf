"""Names out of files were sent as they are to editors, agents and notebooks, and into reports, tables and scripts: what
a terminal obeys, what adds a line, a formula of a spreadsheet, and in a script of ``repro`` code that was run."""

from __future__ import annotations

import ast
import csv
import html
import io
import json
import re
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import loopdbg as package
from cli_runner import run_cli
from dap_client import DapProcess
from loopdbg.debugger.export_formats.spreadsheet_csv import row_writer, unescape_cell
from loopdbg.debugger.frontends.mcp.tools import McpTools
from loopdbg.tui.cli import terminal

FORGED = "FORGED line"
#: What is in each name of the model.
TAGS = {
    "escape sequence": "\x1b[31m\x07\x9b1m",
    "line break": f"x\n{FORGED}",
    "other breaks": f"x\u2028{FORGED}\x85{FORGED}\x0b{FORGED}\r{FORGED}",
    "turned around": "\u202etxt\u2066",
    "a NUL": "a\x00b",
    "HTML": "<img src=x onerror=alert(1)></pre><script>1</script>",
    "Markdown": f"```\n# {FORGED}\n[a](javascript:1)![b](//c)",
    "XML": "]]><x/>&lt;\ufffe",
    "a formula": "\t=HYPERLINK(1)",
    "code": '"""\nopen("executed", "w")\n"""',
    "code in quotes": '\\"""+open("executed", "w")+"""\'\'\'',
    "mathematics": r"$\frac{a}$_",
}


def save_tagged_model(folder: Path, tag: str, front: bool = False, file: str = "model.onnx") -> Path:
    """A loop that takes the square root of less and less, until that is NaN; the tag is in each name, or is the name's
    beginning."""

    def name(word: str) -> str:
        return f"{tag}{word}" if front else f"{word}{tag}"

    def scalar(word: str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name(word), kind, [])

    body = helper.make_graph(
        [
            helper.make_node("Sub", [name("h"), name("one")], [name("less")], name=name("sub")),
            helper.make_node("Sqrt", [name("less")], [name("g")], name=name("root")),
            helper.make_node("Identity", [name("c")], [name("c2")], name=name("same")),
        ],
        name("body"),
        [scalar("i", TensorProto.INT64), scalar("c", TensorProto.BOOL), scalar("h")],
        [scalar("c2", TensorProto.BOOL), scalar("g"), scalar("g")],
    )
    loop = helper.make_node("Loop", [name("n"), "", name("h0")], [name("r"), name("s")], body=body, name=name("loop"))
    graph = helper.make_graph(
        [loop],
        name("graph"),
        [scalar("h0")],
        [scalar("r"), helper.make_tensor_value_info(name("s"), TensorProto.FLOAT, [name("t")])],
        [numpy_helper.from_array(np.array(5), name("n")), numpy_helper.from_array(np.float32(1), name("one"))],
    )
    path = folder / file
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def check_text(text: str) -> None:
    """No character that a terminal or a page obeys, and no line that a name begins."""
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn")}
    assert not bad, (bad, text)
    assert not [line for line in text.splitlines() if line.strip(" #>|`").startswith(FORGED)], text


def strings(value: Any) -> list[str]:
    """All texts in what was sent as JSON."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


every_tag = pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_editor(tmp_path: Path) -> None:
    """One adapter for all of them: all names of a model at once."""
    tag = "".join(TAGS.values())
    editor = DapProcess()
    sent: list[Any] = []
    try:
        sent.append(editor.launch_and_stop(str(save_tagged_model(tmp_path, tag)), inputs={f"h0{tag}": 4}))
        sent.append(editor.move("next"))
        for request, arguments in (
            ("threads", {}),
            ("stackTrace", {"threadId": 1}),
            ("loopdbg/timeline", {}),
            ("loopdbg/inline", {}),
            ("loadedSources", {}),
            ("completions", {"text": "print ", "column": 7}),
            ("setFunctionBreakpoints", {"breakpoints": [{"name": "nowhere"}]}),
        ):
            sent.append(editor.get(request, **arguments))
        source = editor.get("source", sourceReference=1)["content"]
        scopes = editor.get("scopes", frameId=1)["scopes"]
        named = [
            (scope["name"], scope["variablesReference"], item)
            for scope in scopes
            for item in editor.get("variables", variablesReference=scope["variablesReference"])["variables"]
        ]
        sent.append([entry for _, _, entry in named])
        reference, carried = next((reference, element) for scope, reference, element in named if scope == "Carried")
        # What an editor sends back are the names that it got.
        info = editor.get("dataBreakpointInfo", name=carried["name"], variablesReference=reference)
        assert info["dataId"]
        sent.append(info)
        (point,) = editor.get("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])["breakpoints"]
        assert point["verified"], point
        value = editor.get("evaluate", expression=carried["evaluateName"], frameId=1)["result"]
        assert float(value) == 4
        changed = editor.get("setVariable", variablesReference=reference, name=carried["name"], value="9")
        assert float(changed["value"]) == 9
        sent.append(editor.move("continue"))
    finally:
        editor.close()
    check_text(source)
    assert len(source.splitlines()) < 20
    result = strings(sent)
    assert len(result) > 40
    for text in result:
        check_text(text)
        assert "\n" not in text


@every_tag
def test_an_agent(tmp_path: Path, tag: str) -> None:
    path = save_tagged_model(tmp_path, tag)
    agent = McpTools(
        lambda inputs: package.debug(package.load(inputs["path"]), {f"h0{tag}": np.float32(4)}), _no, False
    )
    messages = [
        agent.open(str(path)),
        agent.explain(),
        agent.list_source("all"),
        agent.step(),
        agent.why(),
        agent.source(),
    ]
    messages += [
        agent.set_breakpoint("nan"),
        agent.continue_run(),
        agent.command("info loops"),
        agent.command("info values"),
    ]
    for text in messages:
        check_text(text)
    assert len(messages[0].splitlines()) == 6


def _no(*_: object) -> list[str]:
    return []


@every_tag
def test_a_notebook(tmp_path: Path, tag: str) -> None:
    model = package.load(save_tagged_model(tmp_path, tag))
    session = package.debug(model, {f"h0{tag}": np.float32(4)})
    session.step()
    pages = [
        thing._repr_html_()
        for thing in (model, session, session.frame, session.stop, session.why(), model.explain(), session.listing())
    ]
    session.continue_()
    pages += [session._repr_html_(), model.execute({f"h0{tag}": np.float32(4)})._repr_html_()]
    for page in pages:
        tags = set(re.findall(r"<(/?[a-zA-Z]+)", page))
        assert not tags & {"img", "script", "x"}, page
        check_text(html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.S)))
    for thing in (session.why(), model.explain()):
        check_text(str(thing))


@every_tag
def test_a_widget(tmp_path: Path, tag: str) -> None:
    pytest.importorskip("anywidget")
    model = package.load(save_tagged_model(tmp_path, tag))
    stepper = package.widget(package.debug(model, {f"h0{tag}": np.float32(4)}))
    for line in ("step", "print nowhere", "next", "info frame"):
        stepper.do(line)
        for text in strings([stepper.view, stepper.state]):
            check_text(text)
            assert "\n" not in text or text == stepper.view["condition"]["whole"]
    stepper.request = {"number": 1, "hover": 2}
    check_text(stepper.answer["text"])


@every_tag
def test_tables_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str) -> None:
    path, inputs = save_tagged_model(tmp_path, tag), ("--input", f"h0{tag}=4")
    assert run_cli(capsys, "run", path, *inputs, "--record", "run.loopdb").status == 0
    assert run_cli(capsys, "export", "run.loopdb", "run.csv").status == 0
    assert run_cli(capsys, "sweep", path, "--random", 2, "-j", 1, "-o", "rows.csv", "--junit", "rows.xml").status == 0
    run_cli(capsys, "run", path, *inputs, "--break", "nan", "--junit", "run.xml")
    for name in ("run.csv", "rows.csv"):
        text = Path(name).read_text("utf-8")
        check_text(text.replace("\r\n", "\n"))
        # A line of the file is a row.
        assert len(text.splitlines()) == len(list(csv.reader(io.StringIO(text))))
    for name in ("run.xml", "rows.xml"):
        check_text(Path(name).read_text("utf-8"))
        assert len(ElementTree.parse(name).findall(".//testcase")) >= 1


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_a_spreadsheet_gets_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str], sign: str) -> None:
    path = save_tagged_model(tmp_path, f"{sign}cmd()", front=True)
    assert run_cli(capsys, "run", path, f"--input={sign}cmd()h0=4", "--record", "run.loopdb").status == 0
    assert run_cli(capsys, "export", "run.loopdb", "run.csv").status == 0
    head, *rows = csv.reader(io.StringIO(Path("run.csv").read_text("utf-8")))
    assert f"'{sign}cmd()h" in head
    assert not [cell for row in (head, *rows) for cell in row if cell.startswith(sign) and "cmd" in cell]


def test_numbers_in_tables_stay_numbers() -> None:
    file = io.StringIO()
    row_writer(file)(["-0.5", "-inf", "+1e-7", "-x", "=1", 3, -4.5, None, "a\nb"])
    assert file.getvalue() == "-0.5,-inf,+1e-7,'-x,'=1,3,-4.5,,a\\nb\r\n"
    assert [unescape_cell(cell) for cell in ("'-x", "'=1", "-0.5", "'tis")] == ["-x", "=1", "-0.5", "'tis"]


@every_tag
def test_a_pack_of_repro_runs_nothing_of_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str) -> None:
    ran = run_cli(
        capsys, "repro", save_tagged_model(tmp_path, tag), "--break", "nan", "--input", f"h0{tag}=4", "-o", "out"
    )
    assert ran.status == 0, ran.err
    scripts = list(Path("out").glob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        tree = ast.parse(script.read_text("utf-8"))
        assert ast.get_docstring(tree)
        assert "open" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        check_text(script.read_text("utf-8"))
    assert not list(tmp_path.rglob("executed"))
    check_text(Path("out/README.md").read_text("utf-8"))
    prose = re.sub(r"^(`{3,})\n.*?^\1$", "", Path("out/README.md").read_text("utf-8"), flags=re.S | re.M)
    assert not re.search(r"(?<!\\)(<img|<script|\]\(|!\[)", prose), prose


@every_tag
def test_a_script_of_convert_has_no_code_of_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str
) -> None:
    assert run_cli(capsys, "convert", save_tagged_model(tmp_path, tag), "out.py", "--force").status == 0
    text = Path("out.py").read_text("utf-8")
    check_text(text)
    names = {node.func.id for node in ast.walk(ast.parse(text)) if _is_call(node)}
    assert names <= {"constant", "named", "build", "open", "dict", "Path", "int"}
    assert "executed" not in {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}


def _is_call(node: ast.AST) -> Any:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@every_tag
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path, inputs = save_tagged_model(tmp_path, tag), ("--input", f"h0{tag}=4")
    for k, more in enumerate((inputs, ("--what", "graph"))):
        ran = run_cli(capsys, "plot", path, *more, "-o", f"{k}.{suffix}")
        assert ran.status == 0, ran.err
        if suffix == "svg":
            text = Path(f"{k}.svg").read_text("utf-8")
            check_text(text)
            results = {item.tag.rpartition("}")[2] for item in ElementTree.fromstring(text).iter()}
            assert not results & {"script", "img", "x"}


def test_github_obeys_no_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for text in ("::stop-commands::x", "  ::error::x", "a ##[error]b"):
        terminal.out(text)
        terminal.err(text)
    terminal.out_json({"##[error]": "::error::"})
    ran = capsys.readouterr()
    lines = [*ran.out.splitlines(), *ran.err.splitlines()]
    assert len(lines) == 7
    assert not [line for line in lines if line.strip().startswith("::") or "##[" in line]
    assert json.loads(ran.out.splitlines()[-1]) == {"##[error]": "::error::"}
