"""What a wheel is tried with holds for the checkout: a fault that it finds in a wheel is then one of the wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import loopdbg
import source_checks
from text_models import SAMPLES

_spec = importlib.util.spec_from_file_location("smoke", source_checks.ROOT / ".ci" / "smoke.py")
assert _spec is not None and _spec.loader is not None
smoke = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(smoke)


@pytest.mark.parametrize("name", smoke.SAMPLES)
def test_a_sample_of_each_system_is_run_and_stepped(name: str) -> None:
    smoke.sample(SAMPLES / name, *smoke.SAMPLES[name])
    with pytest.raises(AssertionError):
        smoke.sample(SAMPLES / name, *smoke.SAMPLES[name][:3], -1)


def test_every_module_is_imported() -> None:
    sources = list((source_checks.ROOT / "runtime").rglob("*.pyx"))
    assert smoke.modules() > 400
    assert smoke.compiled() == len(sources)


def test_what_was_installed_is_started() -> None:
    assert smoke.command_line(SAMPLES / "newton_sqrt.onnx") == loopdbg.__version__


async def test_the_screen_starts() -> None:
    assert "newton_sqrt" in await smoke.screen(SAMPLES / "newton_sqrt.onnx")


def test_a_checkout_is_nothing_that_was_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["smoke.py", str(SAMPLES)])
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(AssertionError, match="not what was installed"):
        smoke.main()
