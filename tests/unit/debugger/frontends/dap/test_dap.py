"""The Debug Adapter Protocol: a session as an editor drives it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run_cli as command
from dap_client import DapClient, DapProcess
from text_models import SAMPLES

NEWTON = str(SAMPLES / "newton_sqrt.onnx")
NESTED = str(SAMPLES / "mandelbrot.onnx")
MODEL_INPUTS = {"a": 2, "tol": 1e-6}


@pytest.fixture
def client() -> Iterator[DapProcess]:
    spawned = DapProcess()
    yield spawned
    assert spawned.close() == 0


def test_complete_session(client: DapProcess) -> None:
    """A conditional breakpoint, hit; back; a value changed; on to the end."""
    assert client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS) == "before iteration 0 of loop 'sqrt'"
    text = client.get("source", source={"sourceReference": 1}, sourceReference=1)["content"].splitlines()
    line = next(k for k, item in enumerate(text, 1) if "err_new = " in item)
    (point,) = client.get(
        "setBreakpoints", source={"sourceReference": 1}, breakpoints=[{"line": line, "condition": "x < 1.42"}]
    )["breakpoints"]
    assert point["verified"] and point["line"] == line
    assert "breakpoint 1" in client.move("continue")
    assert client.get("stackTrace", threadId=1)["stackFrames"][0]["line"] == line
    assert float(client.scope("Carried")["x"]) == pytest.approx(1.4166666)
    assert client.get("evaluate", expression="x * x", context="hover", frameId=1)["result"].startswith("2.00694")
    client.move("stepBack")
    assert client.get("stackTrace", threadId=1)["stackFrames"][0]["line"] < line
    assert "before iteration 1" in client.move("goto", targetId=1)
    carried = client.get("scopes", frameId=1)["scopes"][0]["variablesReference"]
    assert client.get("setVariable", variablesReference=carried, name="x", value="100.0")["value"] == "100.0"
    assert any("branch 2: x = 100.0" in entry for entry in client.console_output)
    client.get("setBreakpoints", source={"sourceReference": 1}, breakpoints=[])
    assert client.move("continue") == "the model ran to its end"
    assert float(client.scope("Outputs")["root"]) == pytest.approx(2**0.5)
    client.get("continue", threadId=1)
    assert client.event("exited") == {"exitCode": 0}
    client.event("terminated")
    client.get("disconnect")


def test_non_boolean_condition_is_not_verified(client: DapProcess) -> None:
    client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS)
    wanted = [{"line": 12, "condition": text} for text in ("x", "x > 1", "if x > 1")]
    message = client.get("setBreakpoints", source={"sourceReference": 1}, breakpoints=wanted)["breakpoints"]
    assert [item["verified"] for item in message] == [False, True, True]
    assert message[0]["message"].startswith("float32 [] where true or false is needed at column 1 of 'x'")


def test_steps_and_the_stack_of_nested_loops(client: DapProcess) -> None:
    client.launch_and_stop(NESTED)
    outer = client.get("stackTrace", threadId=1)
    assert [frame["id"] for frame in outer["stackFrames"]] == [1, 2]
    while "loop 'escape'" not in (where := client.move("stepIn")):
        pass
    frames = client.get("stackTrace", threadId=1)["stackFrames"]
    assert len(frames) == 3 and frames[0]["name"].startswith("escape") and frames[-1]["name"] == "main graph"
    assert client.get("stackTrace", threadId=1, startFrame=1, levels=1)["stackFrames"] == frames[1:2]
    assert "ends after" in client.move("stepOut") and where
    assert client.get("scopes", frameId=2)["scopes"]
    assert not client.ask("scopes", frameId=9)["success"]


def test_tensors_are_paged(client: DapProcess) -> None:
    client.launch_and_stop(str(SAMPLES / "two_layer_lstm.onnx"))
    client.move("stepOut")
    weight = next(child for child in client.children("Captures") if child["name"] == "R1")
    assert weight["type"] == "float32[16, 64]" and weight["indexedVariables"] == 16
    assert weight["presentationHint"] == {"attributes": ["readOnly"]}
    rows = client.get("variables", variablesReference=weight["variablesReference"])["variables"]
    assert len(rows) == 16 and rows[0]["name"] == "[0]"
    reference = rows[0]["variablesReference"]
    some = client.get("variables", variablesReference=reference, start=3, count=2, filter="indexed")["variables"]
    assert [item["name"] for item in some] == ["[3]", "[4]"]
    state = client.children("Carried")[0]
    part = client.get("variables", variablesReference=state["variablesReference"], start=3, count=1)["variables"][0]
    assert part["evaluateName"] == "h[3]"
    assert client.get("evaluate", expression="h[3]", frameId=1)["result"] == part["value"]
    client.move("stepBack")
    gone = client.ask("variables", variablesReference=reference)
    assert not gone["success"] and "the session has moved since" in gone["message"]


def test_breakpoints_of_every_kind(client: DapProcess) -> None:
    client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS)
    result = client.get("setFunctionBreakpoints", breakpoints=[{"name": "Div"}, {"name": "sqrt"}, {"name": "nothing"}])
    assert [item["verified"] for item in result["breakpoints"]] == [True, True, False]
    assert "nothing" in result["breakpoints"][2]["message"]
    stop = client.get("continue", threadId=1) and client.event("stopped")
    assert stop["reason"] == "function breakpoint" and stop["hitBreakpointIds"]
    client.get("setFunctionBreakpoints", breakpoints=[])
    carried = client.get("scopes", frameId=1)["scopes"][0]["variablesReference"]
    message = client.get("dataBreakpointInfo", variablesReference=carried, name="x")
    (watch,) = client.get("setDataBreakpoints", breakpoints=[{"dataId": message["dataId"], "accessType": "write"}])[
        "breakpoints"
    ]
    assert watch["verified"]
    client.get("continue", threadId=1)
    assert client.event("stopped")["reason"] == "data breakpoint"
    client.get("setDataBreakpoints", breakpoints=[])
    client.get("setExceptionBreakpoints", filters=["overflow", "beyond float16", "end"])
    client.get("continue", threadId=1)
    stop = client.event("stopped")
    assert stop["reason"] == "exception" and "ends after 5" in stop["description"]
    assert "ends after" in client.get("exceptionInfo", threadId=1)["description"]


def test_hit_counts_and_log_messages(client: DapProcess) -> None:
    client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS)
    text = client.get("source", sourceReference=1)["content"].splitlines()
    line = next(k for k, item in enumerate(text, 1) if "err_new = " in item)
    points = [
        {"line": line, "hitCondition": "3"},
        {"line": line - 1, "logMessage": "x is {x}"},
        {"line": line, "hitCondition": "x"},
    ]
    message = client.get("setBreakpoints", source={"sourceReference": 1}, breakpoints=points)["breakpoints"]
    assert [entry["verified"] for entry in message] == [True, True, False] and "hit count" in message[2]["message"]
    client.move("continue")
    assert client.scope("Condition")["iteration"] == "2"
    assert [element for element in client.console_output if element.startswith("x is")] == [
        "x is 2.0\n",
        "x is 1.5\n",
        "x is 1.4166667\n",
    ]
    locations = client.get("breakpointLocations", source={"sourceReference": 1}, line=1, endLine=len(text))
    assert {"line": line} in locations["breakpoints"]


def test_debug_console(client: DapProcess) -> None:
    client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS)
    client.get("evaluate", expression="step 2", context="repl")
    assert client.event("stopped")["description"] == "before iteration 2 of loop 'sqrt'"
    assert client.get("evaluate", expression="x - 1", context="repl")["result"].startswith("0.41666")
    client.get("evaluate", expression="info loop", context="repl")
    assert any("sqrt" in item for item in client.console_output)
    refused = client.ask("evaluate", expression="nothing + 1", context="watch")
    assert not refused["success"] and "nothing" in refused["message"]
    targets = client.get("completions", text="break o", column=8)["targets"]
    assert any(target["label"].startswith("op") for target in targets)
    assert client.get("setExpression", expression="x", value="x + 1")["value"].startswith("2.41666")
    assert "before iteration 0" in client.move("restart")


def test_running_loop_is_paused_and_takes_breakpoints(client: DapProcess) -> None:
    client.launch_and_stop(str(SAMPLES / "loop_infinite.xml"))
    client.get("continue", threadId=1)
    assert not client.ask("stackTrace", threadId=1)["success"]
    message = client.get("setFunctionBreakpoints", breakpoints=[{"name": "iter 1000000000"}])["breakpoints"]
    assert message[0]["verified"]
    client.get("pause", threadId=1)
    event = client.events.get(timeout=60)
    while event["event"].startswith("progress"):
        event = client.events.get(timeout=60)
    assert event["event"] == "stopped" and event["body"]["reason"] == "pause"


def test_trace_is_replayed(client: DapProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "run.loopdb"
    assert command(capsys, "run", NEWTON, "--input", "a=2", "--input", "tol=1e-6", "--record", trace).status == 0
    client.get("initialize", adapterID="loopdbg")
    client.get("attach", trace=str(trace))
    client.event("initialized")
    client.get("configurationDone")
    assert client.event("stopped")["description"] == "before iteration 0 of loop 'sqrt'"
    assert client.move("next") == "before iteration 1 of loop 'sqrt'"
    assert client.move("stepBack") == "before iteration 0 of loop 'sqrt'"
    carried = client.get("scopes", frameId=1)["scopes"][0]["variablesReference"]
    assert not client.ask("setVariable", variablesReference=carried, name="x", value="3")["success"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "launch needs 'program'"),
        ({"program": "nowhere.onnx"}, "nowhere.onnx: no such file"),
        ({"program": NEWTON, "inputs": {"b": 1}}, "'b'"),
        ({"program": NEWTON, "args": ["--trust-script"]}, "'args' is not read: use 'seed'"),
        ({"program": NEWTON, "inputs": 5}, "'inputs' is a file, or an object of names and values"),
        ({"program": NEWTON, "seed": "--help"}, "'seed' is a whole number"),
        ({"program": NEWTON, "seed": -1}, "'seed': '-1' is no whole number from 0 on"),
        ({"program": NEWTON, "maxIterations": 0}, "'maxIterations': '0' is no whole number from 1 on"),
        ({"program": NEWTON, "dims": {"--help": 3}}, "no input has such a dimension"),
        ({"program": NEWTON, "dims": {"N": "--help"}}, "'dims' is a whole number"),
        ({"program": NEWTON, "state": {"--help": 3}}, "the model has no variable '--help'"),
        ({"program": NEWTON, "weights": ["--help"]}, "'weights' is a text"),
        ({"program": NEWTON, "batched": 1}, "'batched' is true or false"),
        ({"program": "--help"}, "--help: no such file"),
        ({"program": str(SAMPLES / "trt" / "halving.py")}, "--trust-script"),
        ({"program": str(SAMPLES / "trt" / "halving.py"), "trustScript": True}, "--trust-script"),
    ],
)
def test_unopenable_files_are_reported(client: DapProcess, arguments: dict[str, Any], message: str) -> None:
    client.get("initialize")
    answer = client.ask("launch", **arguments)
    assert not answer["success"] and message in answer["message"]


def test_adapter_on_a_port(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "loopdbg", "dap", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r':(\d+) with "token": "([\w-]{32})"', line)
        assert match, line
        for _ in range(2):  # one after the other
            with socket.create_connection(("127.0.0.1", int(match[1]))) as connection:
                stream = connection.makefile("rwb")
                client = DapClient(stream, stream)
                client.launch_and_stop(NEWTON, inputs=MODEL_INPUTS, token=match[2])
                client.get("disconnect")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
