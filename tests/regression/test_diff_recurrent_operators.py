"""Of two recurrent operators that differ in an attribute the gates and biases were listed, not the attribute."""

from __future__ import annotations

import numpy as np
import pytest

from diff_checks import blamed_cause, compare_models, report_text, static_differences

RANDOM = np.random.default_rng(0)
STEPS, BATCH, SIZE, HIDDEN = 5, 2, 3, 4


def random_initializer_text(name: str, *shape: int) -> str:
    values = RANDOM.uniform(-1, 1, shape).astype(np.float32).ravel().tolist()
    return f"float[{','.join(map(str, shape))}] {name} = {{{', '.join(f'{v:.6g}' for v in values)}}}"


WEIGHTS = ", ".join(
    [
        random_initializer_text("W", 1, 12, SIZE),
        random_initializer_text("R", 1, 12, HIDDEN),
        random_initializer_text("B", 1, 24),
    ]
)
GRU = f"""g (float[{STEPS},{BATCH},{SIZE}] x) => (float[{STEPS},1,{BATCH},{HIDDEN}] y)
<{WEIGHTS}, int32[2] lens = {{5, 5}}> {{
  y, last = GRU <hidden_size = {HIDDEN}> (x, W, R, B, lens)
}}"""
X = RANDOM.uniform(-2, 2, (STEPS, BATCH, SIZE)).astype(np.float32)


@pytest.mark.parametrize(
    "attribute",
    ["linear_before_reset = 1", "clip = 0.5", 'activations = ["Sigmoid", "Softsign"]', 'direction = "reverse"'],
)
def test_an_attribute_is_named_and_nothing_else(attribute: str) -> None:
    result = compare_models(GRU, GRU.replace("<hidden", f"<{attribute}, hidden"), x=X)
    assert not result.same and static_differences(result) == [("attribute", "y")]
    assert attribute.split()[0] in report_text(result)
    assert blamed_cause(result).endswith("which the loop was made of, has other attributes")


def test_an_input_is_named() -> None:
    result = compare_models(GRU, GRU.replace("{5, 5}", "{3, 5}"), x=X)
    assert not result.same and static_differences(result) == [("constant", "lens")]


def test_a_default_that_is_written_out_is_the_same() -> None:
    result = compare_models(GRU, GRU.replace("<hidden", '<linear_before_reset = 0, direction = "forward", hidden'), x=X)
    assert result.same and not result.static_differences
