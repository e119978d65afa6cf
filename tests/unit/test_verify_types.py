"""``.ci/verify_types.py`` selects the public names from pyright's report."""

from __future__ import annotations

import runpy

import source_checks

SCRIPT = runpy.run_path(str(source_checks.ROOT / ".ci" / "verify_types.py"))


def symbol(name: str, known: bool = True, ambiguous: bool = False) -> dict[str, object]:
    return {"name": name, "isTypeKnown": known, "isTypeAmbiguous": ambiguous}


def test_public_names_are_those_of_the_package() -> None:
    names = SCRIPT["public_names"]()
    assert {"loopdbg.__version__", "loopdbg.runtime.model.load", "loopdbg.testing"} <= names
    assert "loopdbg.runtime.model.Port" in names and "loopdbg.runtime.plan.plan.Plan" not in names


def test_members_of_public_names_are_public() -> None:
    symbols = [symbol(name) for name in ("a.Model", "a.Model.run", "a.Modeller", "b.Plan")]
    chosen = SCRIPT["select_public"]({"typeCompleteness": {"symbols": symbols}}, {"a.Model"})
    assert [item["name"] for item in chosen] == ["a.Model", "a.Model.run"]


def test_inferred_type_is_incomplete() -> None:
    assert SCRIPT["is_complete"](symbol("a"))
    assert not SCRIPT["is_complete"](symbol("a", ambiguous=True))
    assert not SCRIPT["is_complete"](symbol("a", known=False))
