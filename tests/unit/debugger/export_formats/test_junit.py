"""JUnit XML, read back by a third-party reader."""

from __future__ import annotations

from pathlib import Path

import junitparser

from error_fields import raises_error
from loopdbg.debugger.export_formats.junit import JUnitCase, write_report
from loopdbg.runtime.errors import UsageError


def read(path: Path) -> junitparser.TestSuite:
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    return suite


def test_passed_failed_and_erroneous_cases_are_read_back(tmp_path: Path) -> None:
    cases = [
        JUnitCase("set/1", "model.onnx", 0.25, properties={"iterations": 7, "stopped_by": "condition"}),
        JUnitCase(
            "set/2", "model.onnx", 0.5, failure=["x differs", "in iteration 3"], kind="differs", file="cell.py", line=12
        ),
        JUnitCase("set/3", "model.onnx", 1.0, error=["out of time"], kind="timeout"),
    ]
    write_report(tmp_path / "report.xml", iter(cases), "loopdbg sweep")
    suite = read(tmp_path / "report.xml")
    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("loopdbg sweep", 3, 1, 1)
    assert suite.time == 1.75
    passed, failed, broken = suite
    assert passed.is_passed and not failed.is_passed
    assert (passed.name, passed.classname, passed.time) == ("set/1", "model.onnx", 0.25)
    assert {item.name: item.value for item in passed.iterchildren(junitparser.Properties).__next__()} == {
        "iterations": "7",
        "stopped_by": "condition",
    }
    (failure,) = failed.result
    assert isinstance(failure, junitparser.Failure)
    assert (failure.type, failure.message, failure.text) == ("differs", "x differs", "x differs\nin iteration 3")
    assert (failed._elem.get("file"), failed._elem.get("line")) == ("cell.py", "12")
    (error,) = broken.result
    assert isinstance(error, junitparser.Error)
    assert (error.type, error.message) == ("timeout", "out of time")


def test_any_text_is_well_formed(tmp_path: Path) -> None:
    name = "a<b>&\"'\n\t]]>\x00\x1b[31m\ud800\uffff é 漢 \U0001f600"
    write_report(tmp_path / "odd.xml", [JUnitCase(name, name, failure=[name], kind=name, properties={name: name})])
    (case,) = read(tmp_path / "odd.xml")
    clean = "a<b>&\"'\\n\\t]]>\\x00\\x1b[31m\\ud800\\uffff é 漢 \U0001f600"
    assert case.name == case.classname == case.result[0].message == clean
    assert case.result[0].text == clean


def test_empty_report_is_valid(tmp_path: Path) -> None:
    write_report(tmp_path / "none.xml", [])
    assert (read(tmp_path / "none.xml").tests, list(read(tmp_path / "none.xml"))) == (0, [])


def test_unwritable_report_is_an_error(tmp_path: Path) -> None:
    with raises_error(UsageError, got="No such file or directory"):
        write_report(tmp_path / "nowhere" / "x.xml", [])
