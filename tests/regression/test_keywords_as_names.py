"""A value called `iter` was printed as `iter`, which in expressions is the iteration number."""

from __future__ import annotations

import re

import pytest

from console_recorder import ConsoleRecorder
from loopdbg.debugger.session.session import Session
from text_models import model

MODEL = """g (int64 n, float iter0) => (float iter_last) {
  iter_last = Loop (n, , iter0) <body = b (int64 i, bool c, float iter) => (bool c2, float iter_next) {
    c2 = Identity (c)
    one = Constant <value = float {1}> ()
    iter_next = Add (iter, one)
  }>
}"""
#: Where the name is printed, before iteration 1, where it is 11.
PRINTED = {
    "info frame": r"^  (\S+)  10.0 → 11.0",
    "info values": r"^(\S*iter\S*) = 11.0$",
    "list": r"^.*?(\S+) = iter_next ",
}


@pytest.mark.parametrize("command", PRINTED)
def test_what_is_printed_is_what_is_read(command: str) -> None:
    talk = ConsoleRecorder(Session(model(MODEL), {"n": 5, "iter0": 10.0}))
    names = [match[1] for line in talk("step", command) if (match := re.match(PRINTED[command], line))][:1]
    assert names == ["`iter`"]
    output = talk(f"print {names[0]}", f"break if {names[0]} > 12", "continue", f"print {names[0]}")
    assert output[0] == "11.0" and output[-1] == "13.0"
