"""What the layers below say of Python, in the words of the command line: the one place that knows both."""

from __future__ import annotations

from ...runtime.errors import LoopdbgError, Remedy

_WORDS = {
    Remedy.GIVE_INPUT: "give it as --input {name}=VALUE",
    Remedy.GIVE_ARRAY: "give it as --input {name}='[...]' or --input {name}=file.npy",
    Remedy.FILL_FOLDER: "--force writes into it",
    Remedy.LIMIT_ITERATIONS: "give --max-iterations N to run it",
    Remedy.LONGEST: "--longest N says the longest that it may get",
    Remedy.NAME_LOOP: "name one with --loop",
    Remedy.ONE_ITERATION: "extract one iteration, whose draws are inputs: --iteration K",
    Remedy.OVERWRITE: "--force overwrites it",
    Remedy.RECORD: "a trace is what 'loopdbg run MODEL --record FILE' writes",
    Remedy.RECORD_NODES: "--record-nodes records all body values",
    Remedy.RESUME: "--resume goes on from there",
    Remedy.RUN_MODEL: "with the model: loopdbg MODEL, or loopdbg run MODEL --resume",
}


def matched(how: str) -> str:
    """How loops or values of two sides were matched."""
    return "--map" if how == "given" else how


def told(error: LoopdbgError) -> str:
    """The text of an error for somebody at a command line."""
    return error.told(_WORDS)
