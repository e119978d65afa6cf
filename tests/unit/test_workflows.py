"""What workflows, Makefile and pyproject.toml say of each other is so."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import source_checks

ROOT = source_checks.ROOT
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
RELEASE = runpy.run_path(str(ROOT / ".ci" / "release.py"))
LINKS = runpy.run_path(str(ROOT / ".ci" / "absolute_links.py"))
#: Actions that follow a branch; the workflow says why.
UNPINNED = {"pypa/gh-action-pypi-publish@release/v1"}


def jobs(path: Path) -> dict[str, Any]:
    """The jobs of a workflow by name."""
    results: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    return results


def commands(path: Path) -> list[str]:
    """The lines of shell that a workflow runs."""
    steps = [step for job in jobs(path).values() for step in job.get("steps", ())]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def files_named(line: str) -> set[str]:
    """The files of the repository that a line of shell names."""
    return set(re.findall(r"(?:^|[\s/\"'])(\.ci/[\w./]+|sample_models)", line))


def test_there_are_workflows_for_tests_wheels_and_releases() -> None:
    assert [path.stem for path in FILES] == ["release", "tests", "wheels"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE))
    lines = commands(path)
    asked = {target for line in lines for target in re.findall(r"^make ([a-z]+)", line)}
    assert asked <= targets
    named = set().union(*map(files_named, lines))
    assert asked or named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_jobs_wait_for_jobs_that_there_are_and_end(path: Path) -> None:
    result = jobs(path)
    for job in result.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(result)
        called = job.get("uses")
        assert (ROOT / called).is_file() if called else job["timeout-minutes"] <= 120


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workflow_may_write_only_where_a_job_says_so(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    writing = {name for name, job in workflow["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writing == ({"publish", "announce"} if path.stem == "release" else set())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+/\S+@.*)$", path.read_text("utf-8"), re.M)
    assert [
        action for action in used if action not in UNPINNED and not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", action)
    ] == []


def test_absolute_links_of_readme_reach_files() -> None:
    url = "https://host/owner/name"
    text = LINKS["absolute_links"]((ROOT / "README.md").read_text("utf-8"), url, "v1")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets and all(target.startswith(("https://", "#")) for target in targets)
    ours = [target for target in targets if target.startswith(url)]
    assert all((ROOT / target.split("/v1/")[1].partition("#")[0]).exists() for target in ours)
    assert {target.split("/")[5] for target in ours if target.endswith(".svg")} == {"raw"}


def test_conda_recipe_has_the_requirements_of_the_project() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
    project = PROJECT["project"]
    assert recipe["context"]["version"] == project["version"]
    run = {line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]}
    assert run == {*project["dependencies"], f"python{project['requires-python']}"}
    host = {line.replace(" ", "") for line in recipe["requirements"]["host"]}
    assert set(PROJECT["build-system"]["requires"]) <= host


def test_project_urls_are_a_table() -> None:
    table = tomllib.loads(LINKS["project_urls"]("https://host/owner/name", "v1"))["project"]["urls"]
    assert table["Changelog"] == "https://host/owner/name/blob/v1/CHANGELOG.md"


def test_every_python_that_is_promised_is_tested_and_built() -> None:
    output = " ".join(PROJECT["project"]["classifiers"])
    promised = set(re.findall(r"Python :: (3\.\d+)", output))
    tested = jobs(ROOT / ".github" / "workflows" / "tests.yml")["test"]["strategy"]["matrix"]["python"]
    built = {f"3.{minor}" for minor in re.findall(r"cp3(\d+)-", " ".join(PROJECT["tool"]["cibuildwheel"]["build"]))}
    assert promised == set(tested) == built
    assert f">={min(promised, key=lambda version: int(version[2:]))}" == PROJECT["project"]["requires-python"]


def test_a_wheel_is_tried_by_files_that_there_are() -> None:
    named = files_named(PROJECT["tool"]["cibuildwheel"]["test-command"])
    assert named == {".ci/smoke.py", "sample_models"}
    assert all((ROOT / name).exists() for name in named)


def test_extras_that_make_installs_are_declared() -> None:
    asked = set(re.findall(r"\$\(INSTALLED\)-([a-z]+)", MAKEFILE)) - {"run"}
    assert {"test", "dev", "wheels"} <= asked <= set(PROJECT["project"]["optional-dependencies"])


def test_extras_that_texts_tell_of_are_declared() -> None:
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.py")]
    messages = {name for path in texts for name in re.findall(r"\.\[([a-z]+)\]'", path.read_text("utf-8"))}
    assert messages and messages <= set(PROJECT["project"]["optional-dependencies"])


CHANGES = """# Changelog

## [1.2.3] - 2026-01-02

### Added

- one

## [1.2.2] - 2026-01-01
"""


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A repository that is ready for v1.2.3."""
    (tmp_path / "src" / "loopdbg").mkdir(parents=True)
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "src" / "loopdbg" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    return tmp_path


def test_a_release_has_its_section_as_notes(released: Path) -> None:
    assert RELEASE["release_problems"]("v1.2.3", released) == []
    assert RELEASE["notes"]("v1.2.3", CHANGES) == "### Added\n\n- one"


def test_incomplete_release_is_reported(released: Path) -> None:
    assert RELEASE["release_problems"]("v1.2.4", released) == [
        "pyproject.toml says 1.2.3, the tag v1.2.4",
        "src/loopdbg/__init__.py says 1.2.3, the tag v1.2.4",
        "CITATION.cff says 1.2.3, the tag v1.2.4",
        "CHANGELOG.md has no section of v1.2.4",
    ]
    (released / "changelog.d" / "+two.added.md").write_text("two\n")
    (released / "CHANGELOG.md").write_text(CHANGES.replace("## [1.2.2]", "## [Unreleased]"))
    assert RELEASE["release_problems"]("v1.2.3", released) == [
        "changelog.d/+two.added.md is not in CHANGELOG.md",
        "CHANGELOG.md has changes under Unreleased",
    ]


def test_version_is_consistent() -> None:
    assert not [line for line in RELEASE["release_problems"](f"v{PROJECT['project']['version']}") if " says " in line]


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml")), ids=lambda path: path.stem
)
def test_a_form_for_issues_asks_and_says_what_is_needed(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    identities = [field["id"] for field in form["body"]]
    assert len(set(identities)) == len(identities)


def test_tools_before_a_commit_are_those_of_the_dev_extra() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    asked = {name for hook in hooks for name in hook["additional_dependencies"]}
    declared = set(PROJECT["project"]["optional-dependencies"]["dev"])
    assert asked <= declared
    assert {hook["entry"].split()[0] for hook in hooks} == {re.match(r"[\w-]+", name)[0] for name in asked}


def test_every_change_has_a_kind_and_words() -> None:
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    for path in (ROOT / "changelog.d").iterdir():
        if path.name != "README.md":
            assert re.fullmatch(rf"\+[a-z0-9-]+\.({'|'.join(kinds)})\.md", path.name), path.name
            assert path.read_text("utf-8").strip()
