"""``assert_same`` and the fixture of the pytest plugin, as the suite of an exporter uses them."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import junitparser
import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_python_code
from error_fields import raises_error
from loopdbg.debugger.coverage.report_files import read_coverage
from loopdbg.testing import assert_same
from text_models import SAMPLES

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
PLUGIN = ("-p", "loopdbg.pytest_plugin", "-p", "no:cacheprovider")
NEWTON = SAMPLES / "newton_sqrt.onnx"
INPUTS: dict[str, Any] = {"a": np.float32(2), "tol": np.float32(1e-6)}
X = [1.5, 1.4166667, 1.4142157, 1.4142135, 1.4142135]


def test_equal_models_pass_and_are_reported() -> None:
    result = assert_same(NEWTON, {"x": X}, INPUTS)
    assert result.same and result.loops[0].iterations == 5
    assert assert_same(onnx.load(NEWTON), loopdbg.load(NEWTON), INPUTS).same
    assert assert_same(NEWTON.read_bytes(), {"x": X}, INPUTS).same


def test_first_differing_iteration_and_node_are_reported() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_same(NEWTON, {"x": [1.5, 1.5, 1.5, 1.5, 1.5]}, INPUTS)
    message = str(failed.value)
    assert message.startswith("differ: newton_sqrt.onnx and the values given\n")
    assert "first difference: loop 'main ▸ sqrt', iteration 1, carried value 'x'" in message


def test_a_tolerance_may_be_given() -> None:
    assert assert_same(NEWTON, {"x": [1.6, 1.4, 1.4, 1.4, 1.4]}, INPUTS, rtol=0.1).same


def test_other_verdicts_pass_where_they_are_allowed() -> None:
    with pytest.raises(AssertionError, match="same up to a limit"):
        assert_same(NEWTON, NEWTON, INPUTS, max_iterations=2)
    allowed = assert_same(NEWTON, NEWTON, INPUTS, max_iterations=2, allow=[loopdbg.Verdict.LIMITED])
    assert allowed.verdict is loopdbg.Verdict.LIMITED


def test_what_cannot_be_compared_is_no_failed_assertion() -> None:
    with raises_error(loopdbg.ModelError, name="nowhere.onnx"):
        assert_same("nowhere.onnx", {"x": X}, INPUTS)
    with pytest.raises(loopdbg.UsageError, match="is no model"):
        assert_same(7, {"x": X}, INPUTS)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite for which no plugin is there but ours, whether that is installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


SUITE = f"""
NEWTON = {str(NEWTON)!r}
INPUTS = {{"a": 2.0, "tol": 1e-6}}

def test_same(loopdbg_same):
    assert loopdbg_same(NEWTON, {{"x": {X}}}, INPUTS).same

def test_differs(loopdbg_same):
    loopdbg_same(NEWTON, {{"x": [1.5, 1.5]}}, INPUTS)  # the line that is shown

def test_own_tolerance(loopdbg_same):
    loopdbg_same(NEWTON, {{"x": [1.6, 1.4, 1.4, 1.4, 1.4]}}, INPUTS, rtol=0.1)
"""


def test_the_fixture_in_the_suite_of_an_exporter(suite: pytest.Pytester) -> None:
    suite.makepyfile(SUITE)
    ran = suite.runpytest(*PLUGIN, "--junitxml=report.xml")
    ran.assert_outcomes(passed=2, failed=1)
    ran.stdout.fnmatch_lines(
        [
            "> * # the line that is shown",
            "E *AssertionError: differ: newton_sqrt.onnx and the values given",
            "E *first difference: loop 'main ▸ sqrt', iteration 1, carried value 'x'",
        ]
    )
    ran.stdout.no_fnmatch_line("*def same(*")
    (report,) = junitparser.JUnitXml.fromfile(str(suite.path / "report.xml"))
    messages = {
        property_._elem.get("name"): property_._elem.get("value") for case in report for property_ in properties(case)
    }
    assert messages["loopdbg_iteration"] == "1" and messages["loopdbg_value"] == "x"


def properties(case: Any) -> list[Any]:
    return [item for group in case.iterchildren(junitparser.Properties) for item in group]


def test_tolerances_of_a_project(suite: pytest.Pytester) -> None:
    suite.makepyfile(SUITE.replace(", rtol=0.1", ""))
    suite.makeini("[pytest]\nloopdbg_rtol = 0.1\n")
    ran = suite.runpytest(*PLUGIN)
    ran.assert_outcomes(passed=2, failed=1)
    ran.stdout.fnmatch_lines(["E *same as far as compared*", "E *a run was over after 2 iterations"])
    suite.makeini("[pytest]\nloopdbg_rtol = much\n")
    ran = suite.runpytest(*PLUGIN)
    assert "loopdbg_rtol = much: a tolerance is a number from 0 on" in ran.stdout.str()


def test_nothing_heavy_is_imported_before_something_is_compared() -> None:
    code = "import sys, loopdbg.pytest_plugin, loopdbg.testing\nprint(*sys.modules)"
    ran = run_python_code(code)
    assert ran.status == 0, ran.err
    results = set(ran.out.split())
    assert {"loopdbg.testing", "pytest"} <= results and not results & {"numpy", "onnx"}
    assert not [name for name in results if name.startswith(("loopdbg.runtime", "loopdbg.debugger"))]


def test_pytest_finds_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert hasattr(import_module(module), "loopdbg_same")


COVERED_SUITE = f"""
import pytest, loopdbg

@pytest.mark.parametrize("tol", [1e-6, 10.0, 1e-3])
def test_run(tol):
    loopdbg.load({str(NEWTON)!r}).run({{"a": 2.0, "tol": tol}})

def test_same(loopdbg_same):
    assert loopdbg_same({str(NEWTON)!r}, {{"x": {X}}}, {{"a": 2.0, "tol": 1e-6}}).same
"""


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_coverage_of_a_suite(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    suite.makepyfile(COVERED_SUITE)
    ran = suite.runpytest_subprocess(*PLUGIN, *workers, "--loopdbg-coverage", "--loopdbg-coverage-fail-under=80")
    ran.assert_outcomes(passed=4)
    ran.stdout.fnmatch_lines(
        [
            "newton_sqrt.onnx: 3 of 4 points covered (75.0%) by 4 runs",
            "  main ▸ sqrt: iterations one",
            "loops covered: 75.0%",
            "FAIL: less than the required 80%",
        ]
    )
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran = suite.runpytest_subprocess(*PLUGIN, *workers, "--loopdbg-coverage=c.json", "--loopdbg-coverage-fail-under=75")
    assert ran.ret == pytest.ExitCode.OK
    (coverage,) = read_coverage(suite.path / "c.json")
    assert (coverage.covered, coverage.total, coverage.runs) == (3, 4, 4)


def test_coverage_of_runs_that_have_to_pass(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        f"""
from loopdbg.testing import assert_passes
import pytest

def test_ends():
    assert_passes({str(NEWTON)!r}, {{"a": 2.0, "tol": 1e-6}})

def test_never_ends():
    with pytest.raises(AssertionError, match="endless"):
        assert_passes({str(NEWTON)!r}, {{"a": 2.0, "tol": -1.0}})
"""
    )
    ran = suite.runpytest_subprocess(*PLUGIN, "--loopdbg-coverage")
    ran.assert_outcomes(passed=2)
    assert "newton_sqrt.onnx: 2 of 4 points covered (50.0%) by 2 runs" in ran.outlines


def test_coverage_is_not_measured_unless_it_is_requested(suite: pytest.Pytester) -> None:
    suite.makepyfile(COVERED_SUITE)
    ran = suite.runpytest_subprocess(*PLUGIN)
    ran.assert_outcomes(passed=4)
    ran.stdout.no_fnmatch_line("*covered*")
    ran = suite.runpytest_subprocess(*PLUGIN, "--loopdbg-coverage=c.pdf")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
