"""Try an installed loopdbg: ``smoke.py SAMPLES [--no-compiler]``, with the folder of the sample models.

A wheel may lack a file, a symbol or a module of the checkout, so run this outside of a checkout. It imports every
module, runs and steps a sample of each system, and starts the command line and the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.metadata
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg

#: Optional dependencies of modules.
OPTIONAL = ("aiohttp", "anywidget", "onnxruntime", "openvino", "pytest", "textual_serve", "torch", "traitlets")
COMPILERS = ("cc", "c99", "gcc", "clang", "c++", "g++")

#: Sample of each system -> name of a carried value, its value after one iteration, name and value of an output.
SAMPLES: dict[str, tuple[str, Any, str, Any]] = {
    "newton_sqrt.onnx": ("x", 1.5, "root", np.float32(1.4142135)),
    "loop_while.xml": ("x", [50], "halves", [50, 25, 12.5, 6.25, 3.125, 1.5625, 0.78125]),
    "reverse_sum.xml": ("total", [[6, 60]], "sum", [[21, 210]]),
    "trt/halving.py": ("x", 500, "x_last", 1.953125),
}


def main() -> None:
    """Run all checks; raises AssertionError on failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("samples", type=Path)
    parser.add_argument("--no-compiler", action="store_true", help="also that there is no C compiler on PATH")
    options = parser.parse_args()
    print(f"loopdbg {loopdbg.__version__}: {Path(loopdbg.__file__).parent}")
    assert Path(loopdbg.__file__).is_relative_to(sys.prefix), "not what was installed"
    if options.no_compiler:
        assert not [name for name in COMPILERS if shutil.which(name)], "there is a compiler"
        print("no C compiler on PATH")
    print(f"{modules()} modules, {compiled()} of them compiled")
    for name in SAMPLES:
        sample(options.samples / name, *SAMPLES[name])
        print(f"{name}: run and stepped")
    command_line(options.samples / "newton_sqrt.onnx")
    asyncio.run(screen(options.samples / "newton_sqrt.onnx"))
    print("command line, lessons and screen start")


def modules() -> int:
    """Import every module."""
    names = [module.name for module in pkgutil.walk_packages(loopdbg.__path__, "loopdbg.")]
    return sum(_imported(name) for name in names if not name.endswith("__main__"))


def _imported(name: str) -> bool:
    """Import a module; False if it needs an optional dependency that is not installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        return False
    return True


def compiled() -> int:
    """The number of compiled modules among the imported ones."""
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("loopdbg.")]
    return sum(str(file).endswith((".so", ".pyd")) for file in files)


def sample(path: Path, carried: str, after_one: Any, output: str, expected: Any) -> None:
    """Run and step a model: checks the results, and that both are bit-identical."""
    model = loopdbg.load(path)
    with np.load(path.with_suffix(".inputs.npz")) as file:
        inputs = dict(file)
    outputs = model.run(inputs)
    np.testing.assert_array_equal(outputs[output], expected)
    session = loopdbg.debug(model, inputs)
    assert session.frame.iteration == 0
    session.step()
    assert session.frame.iteration == 1
    np.testing.assert_array_equal(session.frame.carried[carried], after_one)
    session.continue_()
    assert {name: value.tobytes() for name, value in session.outputs.items()} == {
        name: value.tobytes() for name, value in outputs.items()
    }


def command_line(model: Path) -> str:
    """Check the installed script and the models of the lessons; returns the version."""
    version = importlib.metadata.version("loopdbg")
    assert version == loopdbg.__version__
    assert _command_output("--version").split() == ["loopdbg", version]
    assert "root   float32 []    1.4142135" in _command_output("run", str(model))
    assert len(_command_output("learn", "--list").splitlines()) >= 12
    lessons = Path(loopdbg.__file__).with_name("sample_models") / "lessons"
    assert sum(path.suffix in (".onnx", ".onnxtxt", ".xml") for path in lessons.iterdir()) >= 12
    return version


def _command_output(*arguments: str) -> str:
    script = shutil.which("loopdbg", path=str(Path(sys.executable).parent))
    assert script is not None
    return subprocess.run([script, *arguments], capture_output=True, encoding="utf-8", check=True).stdout


async def screen(model: Path) -> str:
    """Start the screen without a terminal, which needs the packaged style sheet; returns its header."""
    from loopdbg.tui.app import LoopdbgApp
    from loopdbg.tui.command_worker import CommandWorker
    from loopdbg.tui.screens.debugger.screen import DebuggerScreen

    debugger = DebuggerScreen(CommandWorker(loopdbg.load(model), {"a": 2.0, "tol": 1e-6}, None))
    app = LoopdbgApp[int](debugger)
    try:
        async with app.run_test(size=(120, 36)):
            await asyncio.wait_for(debugger.run_control.wait_until_idle(), 60)
            assert "sqrt" in debugger.header.text
            return debugger.header.text
    finally:
        debugger.run_control.session_worker.close()


if __name__ == "__main__":
    main()
