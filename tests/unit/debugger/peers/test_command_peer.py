"""A program as a peer: what it is given, what it may do wrong, and a fault of it, found, reduced and swept."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
import source_checks
from cli_runner import PACKAGE_PATH, run_cli, save_text_model
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.report.findings import Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.peers.child import CommandError
from loopdbg.debugger.peers.command_template import command_script_name, split_command
from loopdbg.debugger.peers.external_program import read_outputs, write_inputs
from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from loopdbg.debugger.reduce import initial_candidate
from loopdbg.debugger.reduce.repro.repro import make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource
from loopdbg.runtime.errors import UsageError
from text_models import sample

SCRIPT = source_checks.ROOT / "tests" / "peers" / "command_peer.py"
EXAMPLES = source_checks.ROOT / "docs" / "peers"
PATIENCE = 300
#: Tanh is the operator that the faulty program exchanges.
MODEL = """g (float[3] x) => (float[3] y, float[3] z) {
    n = Constant <value = int64 {4}> ()
    y = Loop <body: graph = b (int64 i, bool ci, float[3] h) => (bool co, float[3] hn) {
        co = Identity (ci) s = Add (h, x) t = Tanh (s) hn = Mul (t, s)
    }> (n, , x)
    z = Neg (y)
}"""
FAULT = "Tanh=Sin"
X = np.array([0.5, -1.0, 2.0], np.float32)


def command_text(fault: str, *program: object) -> str:
    placeholders = "{model} {inputs} {outputs}"
    return f"{shlex.join([sys.executable, str(SCRIPT), fault])} {placeholders} {shlex.join(map(str, program))}".strip()


@pytest.fixture(autouse=True)
def package_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program imports loopdbg."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE_PATH))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = save_text_model(tmp_path, MODEL)
    np.savez(tmp_path / "model.inputs.npz", x=X)
    return file


# ------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("trtexec --onnx={model} {inputs} {outputs}", "trtexec"),
        ("node lib/ort_web.mjs {model} {inputs} {outputs}", "ort_web.mjs"),
        ("python -X dev run.py --in {inputs} {model} {outputs}", "run.py"),
    ],
)
def test_command_name_is_that_of_its_script(text: str, name: str) -> None:
    assert command_script_name(text) == name


@pytest.mark.parametrize("text", ["", "node x.mjs {model} {inputs}", "{model} {inputs} {outputs}", "node 'x"])
def test_split_command_refuses_what_is_no_command(text: str) -> None:
    with pytest.raises(UsageError):
        split_command(text)


def test_words_of_a_command_reach_the_program_unchanged(tmp_path: Path, path: Path) -> None:
    """No shell reads them."""
    words = tmp_path / "words.json"
    code = f"import sys, json, pathlib; pathlib.Path({str(words)!r}).write_text(json.dumps(sys.argv[1:]))"
    text = shlex.join([sys.executable, "-c", code, "$HOME; a  b", "*"]) + " {model} -i={inputs} {outputs}"
    with Peer(f"cmd:{text}", PATIENCE) as peer, pytest.raises(PeerError):
        peer.open(OnnxJob(str(path))).run({"x": X})
    values = json.loads(words.read_text("utf-8"))
    assert values[:3] == ["$HOME; a  b", "*", str(path)]
    assert values[3].startswith("-i=/") and not Path(values[4]).exists()


# ------------------------------------------------------------------ the folders


def test_inputs_and_outputs_are_read_as_they_were_written(tmp_path: Path) -> None:
    feeds: dict[str, Any] = {
        "x/0": np.arange(6, dtype=np.float16).reshape(2, 3),
        "n": np.int64(7),
        "b": np.array([True, False]),
        "s": np.array(["a", "bé"], object),
        "none": np.zeros((0, 2), np.uint8),
        "q": [np.float32([1, 2]), np.float32([3])],
    }
    write_inputs(tmp_path / "in", feeds, ["y"])
    manifest = json.loads((tmp_path / "in" / "manifest.json").read_text("utf-8"))
    assert manifest["version"] == 1 and manifest["outputs"] == ["y"] and manifest["optimize"]
    assert manifest["inputs"][0] == {"name": "x/0", "file": "0.npy", "dtype": "float16", "shape": [2, 3]}
    # Written back as outputs, they are the same.
    (tmp_path / "in" / "manifest.json").write_text(json.dumps({"outputs": manifest["inputs"]}), "utf-8")
    values, _ = read_outputs(tmp_path / "in", list(feeds))
    for value, (name, expected) in zip(values, feeds.items(), strict=True):
        for a, b in zip(value, expected, strict=True) if name == "q" else [(value, np.asarray(expected))]:
            assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all()


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        '{"outputs": [{"name": "z", "file": "0.npy"}]}',
        '{"outputs": [{"name": "y", "file": "gone.npy"}]}',
        '{"outputs": [{"name": "y"}]}',
        '{"outputs": [{"name": "y", "file": "/etc/passwd"}]}',
    ],
)
def test_read_outputs_refuses_a_manifest_that_is_not_one(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest, "utf-8")
    with pytest.raises(CommandError) as raised:
        read_outputs(tmp_path, ["y"])
    assert raised.value.kind == "failed"


# ------------------------------------------------------------------ what a program may do


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ("exit", "failed", "exit status 3: no kernel for the operator Foo"),
        ("crash", "crashed", "SIGABRT"),
        ("silent", "failed", "exit status 0, and no manifest.json in the folder of outputs"),
    ],
)
def test_error_of_a_program_is_one_line(path: Path, fault: str, kind: str, text: str) -> None:
    with Peer(f"cmd:{command_text(fault)}", PATIENCE) as peer:
        loaded = peer.open(OnnxJob(str(path)))
        with pytest.raises(PeerError) as raised:
            loaded.run({"x": X})
        assert (raised.value.kind, raised.value.text) == (kind, text)
        assert loaded.is_alive


def test_program_that_does_not_end_is_given_up_with_its_files(path: Path) -> None:
    with Peer(f"cmd:{command_text('hang')}", 1) as peer:
        loaded = peer.open(OnnxJob(str(path)))
        folder = peer._scratch_folder
        assert folder is not None and folder.is_dir()
        with pytest.raises(PeerError) as raised:
            loaded.run({"x": X})
        assert raised.value.kind == "hung" and not loaded.is_alive
        assert not folder.exists()


def test_missing_program_is_an_error_before_a_run(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    result = run_cli(capsys, "diff", path, "--against", "cmd:no-such-program {model} {inputs} {outputs}")
    assert result.status == 2 and "no-such-program" in result.error_line


def test_command_without_placeholder_is_a_usage_error(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    result = run_cli(capsys, "diff", path, "--against", "cmd:python x.py {model}")
    assert result.status == 2 and "lacks {inputs}, {outputs}" in result.err


# ------------------------------------------------------------------ diff, repro, sweep


def test_sound_program_is_the_same_in_lockstep_and_free_running() -> None:
    model, inputs = sample("newton_sqrt.onnx")
    with Peer(f"cmd:{command_text('none')}", PATIENCE) as peer:
        result = compare_with_peer(model, inputs, peer, ComparisonOptions())
    assert result.verdict is Verdict.SAME
    assert (result.peer, result.version) == ("cmd:command_peer.py", "faulty 1.0")
    lockstep, free = result.comparisons
    assert lockstep.loops[0].iterations == 5 and free.compared_outputs == 2


def test_ir_is_given_as_it_is() -> None:
    """An IR has no extracted bodies; its outputs are compared by position."""
    model, inputs = sample("loop_for.xml")
    with Peer(f"cmd:{command_text('exit')}", PATIENCE) as peer:
        result = compare_with_peer(model, inputs, peer, ComparisonOptions())
    assert [failure.text for failure in result.comparisons[1].failures] == [
        "exit status 3: no kernel for the operator Foo"
    ]


def check_fault_is_found(
    capsys: pytest.CaptureFixture[str], path: Path, command: str, environment: Mapping[str, str] | None = None
) -> None:
    """An exchanged operator is found by diff, reduced by repro and swept by sweep."""
    against = f"cmd:{command}"
    limit = ("--timeout", PATIENCE)
    result = run_cli(capsys, "diff", path, "--against", against, "--json", *limit)
    assert result.status == 6
    report = json.loads(result.out)
    lockstep = report["comparisons"][0]
    assert lockstep["loops"][0]["first"]["iteration"] == 0
    assert lockstep["loops"][0]["node"]["op_type"] == "Tanh", lockstep["loops"][0]

    folder = path.parent / "report"
    result = run_cli(
        capsys, "repro", path, "--against", against, "-o", folder, "--peer-timeout", PATIENCE, "--max-tests", 60
    )
    assert result.status == 0, result
    (node,) = onnx.load(folder / "model.onnx").graph.node
    assert node.op_type == "Tanh"
    page = (folder / "README.md").read_text("utf-8")
    assert f"{Path(command.split(' {')[0].split()[-1]).name}" in page or "command_peer.py" in page
    # The command of the page needs loopdbg neither for the inputs nor to be started.
    (line,) = (line for line in page.splitlines() if "model.onnx inputs outputs" in line)
    (folder / "outputs").mkdir()
    subprocess.run(shlex.split(line), cwd=folder, check=True, env={**os.environ, **(environment or {})})
    values, _ = read_outputs(folder / "outputs", None)
    assert np.isfinite(values[0]).all()

    result = run_cli(
        capsys, "sweep", path, "--random", 2, "--against", against, "-j", 1, "-o", path.parent / "rows.csv", *limit
    )
    assert result.status == 6
    lines = (path.parent / "rows.csv").read_text("utf-8").splitlines()
    assert sum("differs" in line and "Tanh" in line for line in lines) == 2, lines


def test_fault_of_a_program_is_found_reduced_and_swept(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    check_fault_is_found(capsys, path, command_text(FAULT))


def test_refusal_is_reduced_to_the_refused_operator(path: Path, tmp_path: Path) -> None:
    """A program without an operator fails with its name, whatever is around it."""
    code = (
        "import sys, onnx\n"
        "m = onnx.load(sys.argv[1])\n"
        "def ops(g):\n"
        "    for n in g.node:\n"
        "        yield n.op_type\n"
        "        for a in n.attribute:\n"
        "            yield from ops(a.g)\n"
        "sys.exit('no Tanh here') if 'Tanh' in ops(m.graph) else sys.exit('nothing else either')\n"
    )
    text = shlex.join([sys.executable, "-c", code]) + " {model} {inputs} {outputs}"
    with Peer(f"cmd:{text}", PATIENCE) as peer:
        finding = initial_candidate.find_peer_disagreement(loopdbg.load(path), {"x": X}, peer, Tolerance())
        source = FindingSource([path.name], peer.name, peer.version, peer.configuration)
        result = make_repro(finding, source, tmp_path / "pack", most=60)
    assert result.confirmed and result.finding.observation.text == "exit status 1: no Tanh here"
    (node,) = onnx.load(tmp_path / "pack" / "model.onnx").graph.node
    assert node.op_type == "Tanh"


def node_with_ort_web() -> str:
    """The folder that has onnxruntime-web; empty where node or the package is not found."""
    node = shutil.which("node")
    for folder in (os.environ.get("ORT_WEB", ""), str(source_checks.ROOT)):
        if node and folder and (Path(folder) / "node_modules" / "onnxruntime-web").is_dir():
            return folder
    return ""


@pytest.mark.skipif(not node_with_ort_web(), reason="needs node, and onnxruntime-web in the folder ORT_WEB")
class TestOnnxRuntimeWeb:
    @pytest.fixture(autouse=True)
    def folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ORT_WEB", node_with_ort_web())

    def test_sample_models_are_the_same(self) -> None:
        text = f"node {EXAMPLES / 'ort_web.mjs'} {{model}} {{inputs}} {{outputs}}"
        with Peer(f"cmd:{text}", PATIENCE) as peer:
            for name in ("newton_sqrt.onnx", "fibonacci.onnx"):
                result = compare_with_peer(*sample(name), peer, ComparisonOptions())
                assert result.verdict is Verdict.SAME, name
            assert result.version.startswith("onnxruntime-web 1.")

    def test_fault_is_found_reduced_and_swept(self, capsys: pytest.CaptureFixture[str], path: Path) -> None:
        check_fault_is_found(capsys, path, command_text(FAULT, "node", EXAMPLES / "ort_web.mjs"))

    def test_known_difference_of_onnxruntime_is_found(self, tmp_path: Path) -> None:
        """It returns 3, 3, 3 for the iteration number as a scan output."""
        file = save_text_model(
            tmp_path,
            "g (int64 m, bool c) => (int64[n] y) { y = Loop <body: graph = b (int64 i, bool ci) => (bool co, int64 i) "
            "{ co = Identity (ci) }> (m, c) }",
        )
        text = f"node {EXAMPLES / 'ort_web.mjs'} {{model}} {{inputs}} {{outputs}}"
        with Peer(f"cmd:{text}", PATIENCE) as peer:
            result = compare_with_peer(loopdbg.load(file), {"m": 3, "c": True}, peer, ComparisonOptions())
        (difference,) = result.comparisons[1].outputs
        assert np.asarray(difference.right).tolist() == [3, 3, 3]


# ------------------------------------------------------------------ repro --check


def check_text(folder: Path, code: str) -> str:
    script = folder / "check.py"
    script.write_text(code, "utf-8")
    return shlex.join([sys.executable, str(script)]) + " {model} {inputs}"


def test_check_reduces_to_what_the_command_accepts(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    text = check_text(
        tmp_path,
        "import json, pathlib, sys\n"
        "manifest = json.loads((pathlib.Path(sys.argv[2]) / 'manifest.json').read_text())\n"
        "assert manifest['outputs']\n"
        "sys.exit(b'Tanh' not in pathlib.Path(sys.argv[1]).read_bytes())\n",
    )
    result = run_cli(capsys, "repro", path, "--check", text, "-o", tmp_path / "out", "--max-tests", 60)
    assert result.status == 0, result
    (node,) = onnx.load(tmp_path / "out" / "model.onnx").graph.node
    assert node.op_type == "Tanh"
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert files == {"README.md", "inputs", "model.onnx", "test_data_set_0"}
    assert "check.py model.onnx inputs" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_check_that_fails_for_the_whole_model_is_no_finding(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    text = check_text(tmp_path, "import sys\nsys.exit('it is fine')\n")
    result = run_cli(capsys, "repro", path, "--check", text, "-o", tmp_path / "out")
    assert result.status == 8
    assert "exit status 1: it is fine" in result.err and not (tmp_path / "out").exists()


def test_check_has_a_time_limit(capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path) -> None:
    text = check_text(tmp_path, "import time\ntime.sleep(600)\n")
    result = run_cli(capsys, "repro", path, "--check", text, "-o", tmp_path / "out", "--peer-timeout", 1)
    assert result.status == 8 and "no end within 1 s" in result.err
