"""Translates remedies of the lower layers, which are about the Python API, to command-line options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...runtime.errors import LoopdbgError, Remedy

if TYPE_CHECKING:
    from ...debugger.compare.report.findings import Comparison

_REMEDY_TEXTS = {
    Remedy.FEWER_ITERATIONS: "give --max-iterations N to compare fewer iterations",
    Remedy.GIVE_INPUT: "give it as --input {name}=VALUE",
    Remedy.GIVE_ARRAY: "give it as --input {name}='[...]' or --input {name}=file.npy",
    Remedy.WRITE_INTO_FOLDER: "--force writes into it",
    Remedy.LIMIT_ITERATIONS: "give --max-iterations N to run it",
    Remedy.SET_MAX_LENGTH: "--longest N sets the greatest length that it can have",
    Remedy.NAME_LOOP: "name one with --loop",
    Remedy.ONE_ITERATION: "extract one iteration, whose draws are inputs: --iteration K",
    Remedy.REGISTER_OPERATOR: "--operators FILE.py takes a Python function for it",
    Remedy.OVERWRITE: "--force overwrites it",
    Remedy.RECORD_TRACE: "a trace is what 'loopdbg run MODEL --record FILE' writes",
    Remedy.RECORD_NODES: "--record-nodes records all body values",
    Remedy.RESUME_RECORDING: "--resume goes on from there",
    Remedy.RUN_MODEL: "with the model: loopdbg MODEL, or loopdbg run MODEL --resume",
}


def match_method_name(method: str) -> str:
    """The name of a match method of loops or values."""
    return "--map" if method == "given" else method


def reword_comparison(comparison: Comparison) -> None:
    """Reword match methods and notes of a comparison for the command line."""
    for loop in comparison.loops:
        loop.match_method = match_method_name(loop.match_method)
        loop.renamed_values = [(name, other, match_method_name(method)) for name, other, method in loop.renamed_values]
    if comparison.unpaired:
        comparison.add_note("--map NAME=NAME pairs loops")
    if comparison.mode == "reference" and comparison.uncompared:
        comparison.add_note("--map NAME=NAME pairs a value of the model with one of the reference")


def error_text(error: LoopdbgError) -> str:
    """The text of an error with command-line remedies."""
    return error.format(_REMEDY_TEXTS)
