"""Which line a stack trace means."""

from __future__ import annotations

from loopdbg.runtime.graph import UNKNOWN_ORIGIN, Origin
from loopdbg.runtime.graph.stack_trace import origin_from_stack_trace

PACKAGES = "/venv/lib/python3.11/site-packages"


def test_loop_body_rewritten_by_torch() -> None:
    message = origin_from_stack_trace(
        'File "/home/me/model.py", line 168, in forward\n'
        "    return scan(combine, (zeros, zeros.clone()), x, dim=0)[1]\n"
        '  File "<eval_with_key>.119", line 17, in forward\n'
        "    scan = torch.ops.higher_order.scan(scan_combine_fn_0);  scan_combine_fn_0 = None\n"
        '  File "<eval_with_key>.120", line 9, in forward\n'
        "    gates = layer_norm + layer_norm_1;  layer_norm = layer_norm_1 = None"
    )
    assert message == Origin(
        "/home/me/model.py",
        168,
        "return scan(combine, (zeros, zeros.clone()), x, dim=0)[1]",
        "forward",
        traced="gates = layer_norm + layer_norm_1",
    )
    assert str(message) == "model.py:168"


def test_a_line_of_torchscript_is_the_first_that_is_marked() -> None:
    message = origin_from_stack_trace(
        '  File "model.py", line 9\n    def forward(self, h):\n        a = self.lin(h)\n'
        "        return torch.tanh(\n               ~~~~~~~~~~~\n            a) * 0.5\n            ~~~~~~~~ <--- HERE\n"
    )
    assert message == Origin("model.py", 9, "return torch.tanh(")


def test_other_packages_hold_models_and_frameworks_do_not() -> None:
    library = f'File "{PACKAGES}/transformers/models/llama.py", line 5, in forward\n    x = self.norm(x)\n'
    torch = f'  File "{PACKAGES}/torch/nn/modules/rnn.py", line 1150, in forward\n    result = _VF.lstm()\n'
    assert origin_from_stack_trace(library + torch).line == 5
    # A framework's line is better than none.
    assert str(origin_from_stack_trace(torch)) == "rnn.py:1150"


def test_a_path_of_another_system() -> None:
    message = origin_from_stack_trace('File "C:\\me\\nets\\model.py", line 3, in f\n    y = x + 1\n')
    assert (message.file, message.file_name, message.code) == ("C:\\me\\nets\\model.py", "model.py", "y = x + 1")


def test_text_that_is_no_stack() -> None:
    for text in ("", "Reshape for gemm_input", "File", 'File "<string>", line 3, in f', "a.py(x): f"):
        assert origin_from_stack_trace(text) is UNKNOWN_ORIGIN


def test_a_call_without_its_text() -> None:
    assert origin_from_stack_trace('File "a.py", line 3, in f\n    ^^^^\n') == Origin("a.py", 3, function="f")


def test_text_of_any_form_takes_no_longer_than_its_length() -> None:
    for text in ("\n" * 65_000, " " * 65_000, 'File "' * 10_000, ".py(" * 16_000, 'File "a", line 1\n~\n' * 3_000):
        assert origin_from_stack_trace(text).line <= 1
