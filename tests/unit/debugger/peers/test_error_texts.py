"""Errors of runtimes are reported in whole sentences, with the part that names the cause."""

from __future__ import annotations

import pytest

from loopdbg.debugger.peers.error_texts import MAX_CHARS, shorten_error_message

OPENVINO = """Exception from src/inference/src/cpp/core.cpp:117:
Exception from src/inference/src/dev/plugin.cpp:54:
Check 'originalOutputPrecisions.size() > port' failed at src/plugins/intel_cpu/src/node.h:594:
Incorrect output port number for node Assign_36
"""


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (OPENVINO, "Incorrect output port number for node Assign_36"),
        (
            "[ONNXRuntimeError] : 1 : FAIL : Load model failed. Type error: a and b.",
            "Load model failed. Type error: a and b.",
        ),
        ("Check 'a == b' failed at src/core.cpp:12:", "Check 'a == b' failed at src/core.cpp:12:"),
        ("bad luck", "bad luck"),
    ],
)
def test_locations_in_the_source_of_a_runtime_are_left_out(message: str, text: str) -> None:
    assert shorten_error_message("RuntimeError", message) == f"RuntimeError: {text}"


def test_long_error_keeps_its_first_and_its_last_sentence() -> None:
    middle = " ".join(f"Node {k} was tried and could not be converted." for k in range(40))
    text = shorten_error_message("RuntimeError", f"The model was not loaded. {middle} The cause: no kernel for 'Foo'.")
    assert len(text) <= MAX_CHARS
    assert text.startswith("RuntimeError: The model was not loaded.")
    assert text.endswith("could not be converted. The cause: no kernel for 'Foo'.")
    # Sentences are left out as a whole.
    assert all(part.strip().endswith(".") for part in text.split(" ... "))


def test_error_of_one_long_sentence_keeps_its_end() -> None:
    text = shorten_error_message("RuntimeError", f"{'x' * 2000} because of the cause")
    assert len(text) <= MAX_CHARS and text.endswith("because of the cause")


def test_error_without_text_is_its_kind() -> None:
    assert shorten_error_message("RuntimeError", "") == "RuntimeError"
