"""Implements ``loopdbg invariants``."""

from __future__ import annotations

import argparse

from ....debugger.invariants.api import mine_invariants
from ....debugger.sweep.sweep import default_cases
from ....runtime.atomic_file import write_text
from ....runtime.errors import UsageError
from ....runtime.text import count_text, escape_unprintable
from .. import terminal
from ..model_inputs.gather import load_runnable_model
from ..sweeps.execute import chosen_cases


def run_invariants(options: argparse.Namespace) -> int:
    """Mine the invariants of a model and write or print them; returns the exit status."""
    model = load_runnable_model(options.model, options.weights, options)
    # What holds in good runs need not hold for NaN or no iteration.
    cases = chosen_cases(options, edge_cases=False) or default_cases(options.model)
    read = cases.reader(model)
    inputs = [read(number).inputs for number in range(len(cases))]
    mined = mine_invariants(model, inputs, options.max_iterations)
    if options.output is not None:
        if not mined.invariants:
            raise UsageError(f"nothing held often enough in {count_text(mined.runs, 'run')}: give more inputs")
        write_text(options.output, str(mined))
    if options.json:
        terminal.out_json(mined.to_json())
    elif options.output is None:
        for line in str(mined).splitlines():
            terminal.out(escape_unprintable(line))
    else:
        terminal.out(f"{count_text(len(mined.invariants), 'invariant')} of {mined.model} in {options.output}")
        if mined.endless:
            terminal.err(f"note: {count_text(mined.endless, 'input')} left out, with loops that do not end")
    return 0
