"""Scripts as models: what is found in them, what they find around them, and what is reported where they go wrong."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.model import load
from loopdbg.tui.cli import main

from .network_scripts import FILL, HEAD, SCRIPT, load_script, write_script

X = {"x": np.array([1, 3], np.float32)}
CREATE = """\
logger = trt.Logger(trt.Logger.WARNING)
builder = trt.Builder(logger)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
"""
PARTS = {
    "build(network)": SCRIPT + "build = fill\n",
    "the only parameter": SCRIPT + "def build(net): fill(net)\n",
    "with what goes with it": SCRIPT + "def build(builder, network, config, logger): fill(network)\n",
    "a function that makes it": SCRIPT
    + "def build():\n    network = trt.Builder(trt.Logger()).create_network()\n    fill(network)\n",
    "the script itself": SCRIPT + CREATE + "fill(network)\n",
    "its main part": SCRIPT
    + f"if __name__ == '__main__':\n    {'    '.join(CREATE.splitlines(True))}    fill(network)\n",
    "build goes before the main part": SCRIPT + "build = fill\nif __name__ == '__main__':\n    raise RuntimeError\n",
    "build from a condition": SCRIPT + "if True:\n    build = fill\n",
    "an empty network next to it": SCRIPT + CREATE + "builder.create_network(0)\nfill(network)\n",
    "an end that is well": SCRIPT + CREATE + "import sys\nfill(network)\nsys.exit(0)\n",
    "from import": HEAD
    + "from tensorrt import Builder, Logger\n"
    + FILL
    + "network = Builder(Logger()).create_network()\nfill(network)\n",
}


@pytest.mark.parametrize("name", PARTS)
def test_where_the_network_is_found(name: str, tmp_path: Path) -> None:
    model = load_script(tmp_path, PARTS[name])
    assert model.run(X)["y"].tolist() == [2, 6]
    assert model.name == "model.py"


def test_a_function_by_its_name(tmp_path: Path) -> None:
    text = SCRIPT + "def threefold(network): fill(network, 3)\ndef build(network): fill(network, 2)\n"
    model = load_script(tmp_path, text, "threefold")
    assert model.run(X)["y"].tolist() == [3, 9]
    assert model.name == "model.py:threefold"


def test_a_function_may_return_the_network(tmp_path: Path) -> None:
    text = (
        SCRIPT + "def make():\n    b = trt.Builder(trt.Logger())\n    n, m = b.create_network(), b.create_network()\n"
    )
    text += "    fill(n, 5)\n    fill(m, 7)\n    return m\n"
    assert load_script(tmp_path, text, "make").run(X)["y"].tolist() == [7, 21]


def test_script_imports_neighbors(tmp_path: Path) -> None:
    write_script(tmp_path, SCRIPT, "parts.py")
    text = """\
    import sys, os
    import tensorrt as trt
    from parts import fill
    def build(network):
        import tensorrt
        assert tensorrt is trt
        assert sys.argv == [__file__], sys.argv
        os.chdir("/")
        fill(network)
    """
    before, here, modules = list(sys.path), os.getcwd(), set(sys.modules)
    assert load_script(tmp_path, text).run(X)["y"].tolist() == [2, 6]
    assert (sys.path, os.getcwd()) == (before, here)
    assert not {"parts", "tensorrt", "model"} & (set(sys.modules) - modules)
    # What lies next to it may have been edited since.
    write_script(tmp_path, HEAD + FILL.replace("by=2", "by=4"), "parts.py")
    os.utime(tmp_path / "parts.py", (1, 1))
    assert load(tmp_path / "model.py").run(X)["y"].tolist() == [4, 12]


def test_afterwards_tensorrt_is_what_it_was(tmp_path: Path) -> None:
    load_script(tmp_path, PARTS["the script itself"])
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tensorrt")
    with pytest.raises(ModelError):
        load_script(tmp_path, "import tensorrt\n1 / 0\n")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tensorrt")


def test_an_installed_one_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_script(tmp_path, "real = True\n", "tensorrt.py")
    monkeypatch.syspath_prepend(tmp_path)
    real = importlib.import_module("tensorrt")
    try:
        (tmp_path / "scripts").mkdir()
        assert load_script(tmp_path / "scripts", PARTS["the script itself"]).run(X)["y"].tolist() == [2, 6]
        assert sys.modules["tensorrt"] is real
    finally:
        del sys.modules["tensorrt"]


def test_what_a_script_prints_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_script(tmp_path, "print('loud')\n" + PARTS["the script itself"])
    assert main(["run", str(path), "--input", "x=[1, 2]", "--json"]) == 0
    message = capsys.readouterr()
    assert json.loads(message.out)["outputs"]["y"]["shape"] == [2]
    assert "loud" in message.err


def test_dataclasses_in_a_script(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text += SCRIPT + "@dataclass\nclass Size:\n    by: int = 6\ndef build(network): fill(network, Size().by)\n"
    assert load_script(tmp_path, text).run(X)["y"].tolist() == [6, 18]


# -- what goes wrong

WRONG = [
    ("1 / 0", "model.py:3: ZeroDivisionError: division by zero"),
    (
        "def f():\n    return [][1]\ndef g():\n    f()\ng()",
        "model.py:4 in f (called from line 6, 7): IndexError: list index out of range",
    ),
    ("import sys; sys.exit('out of luck')", "model.py:3: the script ended itself with sys.exit: out of luck"),
    ("import sys; sys.exit(3)", "model.py:3: the script ended itself with sys.exit(3)"),
    ("raise SystemExit", "the script builds no network"),
    ("x = (", "model.py:3: is no Python: '(' was never closed"),
    ("pass", "the script builds no network; write build(network)"),
    ("def make(network): pass", "create_network() and add layers; or name one of its functions, as in"),
    ("def build(network): pass", "'build' builds no network; it has to add layers"),
    ("def build(network, weights): pass", "build(network, weights) needs 'weights', which loopdbg does not have"),
    (
        "import numpyy",
        "model.py:3: the script needs the module 'numpyy', which is not installed; install it where loopdbg",
    ),
    (
        "import pycuda.driver",
        "the module 'pycuda', which is not installed; install it, or import it where the engine is",
    ),
    ("from cuda import cudart", "the module 'cuda', which is not installed; install it, or import it"),
    ("import tensorrt.plugin", "of TensorRT only the module 'tensorrt' is here"),
    ("trt.add_loup", "model.py:3: tensorrt.add_loup is not here"),
    ("trt.ElementWiseOperation.SUMM", "ElementWiseOperation.SUMM is not here; the nearest that there is: SUM"),
    ("trt.SliceMode", "tensorrt.SliceMode was removed from TensorRT; use SampleMode"),
    (
        "def build(network): network.add_loop().add_recurence(None)",
        "AttributeError: 'ILoop' object has no attribute 'add_recurence'; did you mean 'add_recurrence'",
    ),
    ("trt.Builder(None)", "model.py:3: Builder takes a trt.Logger"),
    (
        "def build(network): network.add_rnn_v2()",
        "model.py:3: INetworkDefinition.add_rnn_v2 was removed from TensorRT; use add_loop",
    ),
    ("def build(network): network.add_plugin_v2([], None)", "add_plugin_v2 is not here: a plugin's code is a library"),
    (
        "def build(network): network.add_matmul()",
        "model.py:3: INetworkDefinition.add_matmul is not here; the nearest that there is: add_matrix_multiply",
    ),
    (
        "def build(network): network.add_input('x', 'float32', ())",
        "model.py:3: add_input('x'): dtype must be a trt.DataType",
    ),
    (
        "def build(network): network.add_input('x', trt.float32, ()); network.add_input('x', trt.int32, ())",
        "an input 'x' already",
    ),
    (
        "trt.Runtime(trt.Logger()).deserialize_cuda_engine(b'')",
        "model.py:3: Runtime.deserialize_cuda_engine needs an engine",
    ),
    ("assert False, 'no engine'", "model.py:3: AssertionError: no engine"),
]


@pytest.mark.parametrize(("line", "wanted"), WRONG)
def test_what_goes_wrong_is_one_line_with_that_of_the_script(
    line: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_script(tmp_path, HEAD + line + "\n")
    assert main(["run", str(path)]) == 1
    message = capsys.readouterr().err.strip()
    assert wanted in message
    assert message.startswith(f"loopdbg: {path}")
    assert "\n" not in message
    assert "runtime/frontends" not in message


def test_several_networks_are_listed(tmp_path: Path) -> None:
    text = SCRIPT + CREATE + "other = builder.create_network(0)\nfill(network)\nfill(other)\nother.name = 'second'\n"
    with pytest.raises(ModelError) as caught:
        load_script(tmp_path, text)
    message = str(caught.value)
    assert "builds 2 networks: 'Unnamed Network 0' of line 11, 2 layers; 'second' of line 12, 2 layers" in message
    assert "model.py:FUNCTION" in message


def test_a_function_that_is_not_there(tmp_path: Path) -> None:
    path = write_script(tmp_path, PARTS["the only parameter"])
    with raises_error(ModelError, name="biuld", expected="it has 'fill', 'build'"):
        load(f"{path}:biuld")
    with raises_error(ModelError, name="zzz", expected="it has 'fill', 'build'"):
        load(f"{path}:zzz")
    with raises_error(ModelError, name="np", expected="it has 'fill', 'build'"):
        load(f"{path}:np")
    with raises_error(ModelError, name="a b"):
        load(f"{path}:a b")
    with raises_error(ModelError, name=tmp_path / "nothing.py", got="no file"):
        load(tmp_path / "nothing.py:build")


def test_files_that_are_no_scripts(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    for content in (b"\x00\x01\x02", b"\xff\xfe\x00", "x = 'ü'".encode("latin-1")):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"model\.py.*is no Python"):
            load(path)
    path.unlink()
    path.mkdir()
    with raises_error(ModelError, expected="a file", got="a folder"):
        load(path)


def test_error_in_neighbor_module(tmp_path: Path) -> None:
    write_script(
        tmp_path, "def f(network):\n    network.add_identity(None)\ndef g():\n    raise KeyError('k')\n", "parts.py"
    )
    with pytest.raises(
        ModelError, match=r"parts\.py:2 \(called from model\.py:2\): add_identity: input takes an ITensor, not None"
    ):
        load_script(tmp_path, "import parts\ndef build(network): parts.f(network)\n")
    with pytest.raises(ModelError, match=r"parts\.py:4 in g \(called from line model\.py:2\): KeyError: 'k'"):
        load_script(tmp_path, "import parts\ndef build(network): parts.g()\n")


def test_the_wrong_use_of_what_a_script_gets_can_be_caught(tmp_path: Path) -> None:
    text = f"""{SCRIPT}
assert not hasattr(trt, "UffParser")
assert not hasattr(trt.SampleMode, "DEFAULT")
def build(network):
    assert not hasattr(network, "add_fully_connected")
    assert hasattr(network, "add_loop")
    try:
        network.add_constant((1,), [1.0])
    except TypeError:
        fill(network)
"""
    assert load_script(tmp_path, text).run(X)["y"].tolist() == [2, 6]


def test_a_thread_that_does_not_end(tmp_path: Path) -> None:
    text = PARTS["the script itself"] + "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    with pytest.raises(ModelError, match=r"model\.py:\d+: thread 'Thread-\d+.*' still runs where the script has ended"):
        load_script(tmp_path, text)
    # What a thread is, is what it was.
    done = threading.Thread(target=lambda: None)
    done.start()
    done.join()
    assert not done.daemon


def test_threads_that_end(tmp_path: Path) -> None:
    text = SCRIPT + "import threading\nfrom concurrent.futures import ThreadPoolExecutor\ndef build(network):\n"
    text += "    t = threading.Thread(target=fill, args=(network,))\n    t.start()\n    t.join()\n"
    text += "    with ThreadPoolExecutor(2) as pool: pool.submit(print, 'x').result()\n"
    assert load_script(tmp_path, text).run(X)["y"].tolist() == [2, 6]


@pytest.mark.parametrize("loop", ["while True: pass", "import time; time.sleep(3600)"])
def test_a_script_that_never_ends_is_interrupted(loop: str, tmp_path: Path) -> None:
    path = write_script(tmp_path, f"import tensorrt\nprint('on', flush=True)\n{loop}\n")
    command = [
        sys.executable,
        "-c",
        "import sys; from loopdbg.tui.cli import main; sys.exit(main())",
        "info",
        str(path),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=100)
    assert process.returncode == 1
    # It may come a little before the loop.
    assert re.fullmatch(rf"loopdbg: {path}:[23]: interrupted while the script ran", message.strip())


def test_an_engine_that_is_used_ends_the_script_where_the_network_is_built(tmp_path: Path) -> None:
    text = f"""{PARTS["the script itself"]}
config = builder.create_builder_config()
plan = builder.build_serialized_network(network, config)
assert plan is not None and plan.nbytes == len(bytes(plan)) and plan.dtype == trt.int8
with trt.Runtime(logger) as runtime:
    engine = runtime.deserialize_cuda_engine(plan)
raise RuntimeError("unreachable")
"""
    model = load_script(tmp_path, text)
    assert model.run(X)["y"].tolist() == [2, 6]
    first, second = model.graph.notes
    assert "model.py:15: build_serialized_network held the network to TensorRT's rules; no engine is built" in first
    assert "model.py:18: Runtime.deserialize_cuda_engine needs an engine" in second


def test_a_build_refuses_what_tensorrt_refuses(tmp_path: Path) -> None:
    end = "builder.build_serialized_network(network, builder.create_builder_config())\n"
    text = HEAD + CREATE + "x = network.add_input('x', trt.float32, ())\nnetwork.add_identity(x)\n" + end
    with pytest.raises(ModelError, match=r"model\.py:8: the network has no output"):
        load_script(tmp_path, text)
    text = HEAD + CREATE + "x = network.add_input('x', trt.float32, ())\nloop = network.add_loop()\n"
    text += "r = loop.add_recurrence(x).get_output(0)\n"
    text += "network.mark_output(loop.add_loop_output(r, trt.LoopOutput.LAST_VALUE).get_output(0))\n"
    with raises_error(ModelError, node="loop_0", op_type="ILoop", name="trip limit"):
        load_script(tmp_path, text + end)


def test_a_script_is_unsupported_where_something_is_not_here(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError):
        load_script(tmp_path, HEAD + "trt.Refitter\n")


def test_two_functions_of_a_script_are_two_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_script(tmp_path, SCRIPT + "def two(network): fill(network)\ndef three(network): fill(network, 3)\n")
    assert main(["diff", f"{path}:two", f"{path}:three"]) == 6
    assert "model.py:two and model.py:three" in capsys.readouterr().out
    assert main(["diff", f"{path}:two", f"{path}:two"]) == 0
    assert main(["diff", f"{path}:two", "--against", "onnxruntime"]) == 0
    assert "onnxruntime is given the network converted to ONNX" in capsys.readouterr().out


def test_made_inputs_are_as_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SCRIPT + CREATE + "network.add_input('n', trt.int32, ())\nfill(network)\n"
    text += "network.get_input(1).shape = (-1,)\nprofile = builder.create_optimization_profile()\n"
    text += "profile.set_shape('x', (1,), (3,), (9,))\nprofile.set_shape_input('n', [1], [4], [9])\n"
    path = write_script(tmp_path, text)
    assert main(["run", str(path)]) == 0
    message = capsys.readouterr()
    assert "n int32[] = 4, as is usual, x float32[?] as [3]" in message.err
    assert "y   float32 [3]" in message.out
    assert main(["run", str(path), "--dim", "x:0=2"]) == 0
    assert "y   float32 [2]" in capsys.readouterr().out


def test_nodes_say_their_line_and_the_metadata_of_their_layer(tmp_path: Path) -> None:
    text = HEAD + FILL.replace(
        "    y.name", '    network.get_layer(1).metadata = "[ONNX Layer: /cell/Mul]"\n    y.name'
    )
    (node,) = [node for node in load_script(tmp_path, text, "fill").graph.nodes if node.op_type == "Mul"]
    assert (str(node.origin), node.origin.framework_node) == ("model.py:6", "[ONNX Layer: /cell/Mul]")
    assert node.origin.file == str(tmp_path / "model.py")
    assert node.describe().endswith("(model.py:6)")
