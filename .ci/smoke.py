"""Try an installed loopdbg: ``smoke.py SAMPLES [--no-compiler]``, with the folder of the sample models.

A wheel may lack a file, a symbol or a module that the checkout has. So it is to be run outside of one: every module is
imported, a sample of each system is run and stepped, and the command line and the screen are started.
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

#: What some modules are about, and a plain installation lacks.
OPTIONAL = ("aiohttp", "anywidget", "onnxruntime", "openvino", "pytest", "textual_serve", "torch", "traitlets")
COMPILERS = ("cc", "c99", "gcc", "clang", "c++", "g++")

#: A sample of each system, a name of a carried value, what it is after one iteration, and an output of the whole run.
SAMPLES: dict[str, tuple[str, Any, str, Any]] = {
    "newton_sqrt.onnx": ("x", 1.5, "root", np.float32(1.4142135)),
    "loop_while.xml": ("x", [50], "halves", [50, 25, 12.5, 6.25, 3.125, 1.5625, 0.78125]),
    "reverse_sum.xml": ("total", [[6, 60]], "sum", [[21, 210]]),
    "trt/halving.py": ("x", 500, "x_last", 1.953125),
}


def main() -> None:
    """All of it; an AssertionError where something is not as it should be."""
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
    found = [module.name for module in pkgutil.walk_packages(loopdbg.__path__, "loopdbg.")]
    return sum(_imported(name) for name in found if not name.endswith("__main__"))


def _imported(name: str) -> bool:
    """Import a module; False where it is about something that is not installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        return False
    return True


def compiled() -> int:
    """How many of the imported modules are compiled."""
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("loopdbg.")]
    return sum(str(file).endswith((".so", ".pyd")) for file in files)


def sample(path: Path, carried: str, after_one: Any, output: str, expected: Any) -> None:
    """Run a model and step it: the numbers, and that both give the same bits."""
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
    """The script that was installed, and the models of the lessons; returns the version."""
    version = importlib.metadata.version("loopdbg")
    assert version == loopdbg.__version__
    assert _told("--version").split() == ["loopdbg", version]
    assert "root   float32 []    1.4142135" in _told("run", str(model))
    assert len(_told("learn", "--list").splitlines()) >= 12
    lessons = Path(loopdbg.__file__).with_name("lesson_models")
    assert sum(path.suffix in (".onnx", ".onnxtxt", ".xml") for path in lessons.iterdir()) >= 12
    return version


def _told(*arguments: str) -> str:
    script = shutil.which("loopdbg", path=str(Path(sys.executable).parent))
    assert script is not None
    return subprocess.run([script, *arguments], capture_output=True, encoding="utf-8", check=True).stdout


async def screen(model: Path) -> str:
    """The screen, without a terminal: its style sheet is a file of the package; returns its header."""
    from loopdbg.tui.app import LoopdbgApp
    from loopdbg.tui.session_worker import SessionWorker

    app = LoopdbgApp(SessionWorker(loopdbg.load(model), {"a": 2.0, "tol": 1e-6}, None))
    try:
        async with app.run_test(size=(120, 36)):
            await asyncio.wait_for(app.wait_until_idle(), 60)
            assert "sqrt" in app.header.text
            return app.header.text
    finally:
        app.session_worker.close()


if __name__ == "__main__":
    main()
