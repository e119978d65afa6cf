"""The guides match the program: every example is run, and the text does not change."""

from __future__ import annotations

import re

import pytest

from doc_examples import ROOT, ExecutableGuide, command_table
from loopdbg.debugger.frontends.console.command_registry import COMMANDS


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        *(
            "docs/guide.md",
            "docs/commands.md",
            "docs/tensorrt.md",
            "docs/exporting.md",
            "docs/notebook.md",
            "docs/ci.md",
        ),
        *(
            "docs/traces.md",
            "docs/sweep.md",
            "docs/hooks.md",
            "docs/operators.md",
            "docs/value-history.md",
            "docs/precision.md",
            "docs/coverage.md",
        ),
    ],
)
def test_running_the_examples_changes_nothing(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert ExecutableGuide().run(text).splitlines() == text.splitlines(), (
        f"python tests/support/doc_examples.py {name} updates it"
    )


def test_every_command_is_in_text_and_table() -> None:
    text = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    table = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if not re.search(rf"(`|\(loopdbg\) ){name}\b", text)]
    assert missing == []
    assert command_table() in table
    assert all(f"| `{command.usage}` |" in table for command in COMMANDS.values())


def test_no_example_fails_unnoticed() -> None:
    text = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    errors = [line for line in text.splitlines() if line.startswith("error:")]
    assert len(errors) == 1 and "unknown name 'xx'" in errors[0]


def test_wrong_guide_is_corrected() -> None:
    wrong = """
```console
$ loopdbg run newton_sqrt.onnx -i
(loopdbg) step 2
nonsense
(loopdbg) print x
```

```text file=two.txt
step 2
```

```console
$ loopdbg run newton_sqrt.onnx -x two.txt -ex 'quit 5'
$ echo $?
```

```python
one = 1
print(one)
#> 2
print(one + 1)
```

```sh
untouched
```
"""
    right = ExecutableGuide().run(wrong)
    assert "before iteration 0 of loop 'sqrt'\n(loopdbg) step 2\nbefore iteration 2 of loop 'sqrt'\n" in right
    assert "nonsense" not in right and "(loopdbg) print x\n1.4166667\n```" in right
    assert "-ex 'quit 5'\nbefore iteration 2 of loop 'sqrt'\n$ echo $?\n5\n" in right
    assert "print(one)\n#> 1\nprint(one + 1)\n```" in right
    assert "```sh\nuntouched\n```" in right
    assert ExecutableGuide().run(right) == right
