"""Broken model files for both readers: small models, changed with and without knowledge of their format.

``MUTATORS``: each writes one broken file into a folder, and returns the command line to try on it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import onnx.printer
from google.protobuf import json_format, text_format
from google.protobuf.message import Message
from lxml import etree

SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"
#: Larger models only take longer.
MAX_FILE_BYTES = 40_000
#: Boundary values that often cause errors.
BOUNDARY_INTEGERS = (
    0, 1, 2, 3, 5, 7, 8, 16, 64, 65, 127, 255, 256, 1000, 65536, -1, -2, -3, 2**31 - 1, 2**31, 2**32, 2**40,
    2**62, 2**63 - 1, -(2**31), -(2**63),
)  # fmt: skip
BOUNDARY_FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 1e-30, 1e30, 1e308, -1e308, float("inf"), float("-inf"), float("nan"))

#: Values of attributes of IR layers, to be used in the wrong place.
ATTRIBUTES = ("", "true", "f32", "FP32", "i64", "string", "1,2,3", "?", "..", "-1..3", "nan", "é", "1e400", "1.5")
_TOKEN = re.compile(r"[\w.-]+|\W", re.DOTALL)

#: Features that the sample models lack.
MODEL_TEXTS = (
    """strings (string[n] words, int64 M) => (string[m] spoken, string last) {
      empty = Constant <value = string {""}> ()
      last, spoken = Loop <body = b (int64 i, bool c, string before) => (bool c2, string word, string out) {
        c2 = Identity (c)
        word = Gather (words, i)
        out = Identity (before)
      }> (M, , empty)
    }""",
    """sequences (int64 M, float[2] x) => (seq(float[2]) s, float[m] y) {
      none = SequenceEmpty <dtype = 1> ()
      s = Loop <body = b (int64 i, bool c, seq(float[2]) before) => (bool c2, seq(float[2]) after) {
        c2 = Identity (c)
        f = Cast <to = 1> (i)
        row = Mul (x, f)
        after = SequenceInsert (before, row)
      }> (M, , none)
      y = ConcatFromSequence <axis = 0> (s)
    }""",
    """scans (float[2] s0, float[4,2] x, float[2,4] z) => (float[2] s, float[4,2] y, float[2,4] w) {
      s, y, w = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0],
                      scan_output_axes = [0, 1], scan_output_directions = [0, 1],
                      body = b (float[2] a, float[2] p, float[2] q) => (float[2] a2, float[2] u, float[2] v) {
        a2 = Add (a, p)
        u = Mul (a2, q)
        v = Sub (p, q)
      }> (s0, x, z)
    }""",
    """shapes (int64 M, float[1,2,4,4] x0) => (float[a,b,c,d] x) {
      x = Loop <body = body (int64 i, bool c, float[a,b,c,d] x) => (bool c2, float[a,b,e,f] y) {
        c2 = Identity (c)
        one = Constant <value = int64[1] {1}> ()
        three = Constant <value = int64[1] {3}> ()
        last = Constant <value = int64[1] {-1}> ()
        four = Constant <value = int64[4] {1, 2, 4, 4}> ()
        pads = Constant <value = int64[8] {0, 0, 0, 1, 0, 0, 1, 0}> ()
        cut = Slice (x, one, three, last, one)
        padded = Pad <mode = "constant"> (cut, pads)
        pieces, rest = Split <axis = -1, num_outputs = 2> (padded)
        joined = Concat <axis = 3> (pieces, rest)
        turned = Transpose <perm = [0, 1, 3, 2]> (joined)
        best, place = TopK <axis = 2, largest = 1> (turned, one)
        mean = ReduceMean <keepdims = 1> (best, last)
        soft = Softmax <axis = -1> (x)
        sum = Add (soft, mean)
        flat = Reshape (sum, four)
        pooled = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (flat)
        scales = Constant <value = float[4] {1, 1, 1, 1}> ()
        y = Resize <mode = "nearest"> (pooled, , scales)
      }> (M, , x0)
    }""",
    """nested (int64 M, int64 K, bool go, float v0) => (float v, float[n] s) {
      v, s = Loop <body = outer (int64 i, bool c, float a) => (bool keep, float a2, float e) {
        ten = Constant <value = float {10}> ()
        keep = Less (a, ten)
        two = Constant <value = int64 {2}> ()
        rest = Mod (i, two)
        zero = Constant <value = int64 {0}> ()
        even = Equal (rest, zero)
        inner_v = If <then_branch = up () => (float t) {
            t = Loop <body = inner (int64 j, bool d, float u) => (bool d2, float u2) {
              d2 = Identity (d)
              one = Constant <value_float = 1.0> ()
              u2 = Add (u, one)
            }> (K, go, a)
          }, else_branch = down () => (float w) { w = Neg (a) }> (even)
        a2 = Identity (inner_v)
        e = Mul (a2, a2)
      }> (M, go, v0)
    }""",
    """optionals (int64 M, float x) => (float y) {
      some = Optional (x)
      y = Loop <body = b (int64 i, bool c, float a) => (bool c2, float z) {
        has = OptionalHasElement (some)
        c2 = Identity (has)
        got = OptionalGetElement (some)
        z = Add (a, got)
      }> (M, , x)
    }""",
    """cells (float[3,1,2] x, float[1,12,2] w, float[1,12,3] r, float[1,1,3] h) => (float[3,1,1,3] y, float[1,1,3] z) {
      y, z, c = LSTM <hidden_size = 3, direction = "forward"> (x, w, r, , , h, h)
    }""",
)
#: With a function that is called inside and outside a loop.
FUNCTION_MODEL_TEXT = """<ir_version: 9, opset_import: ["" : 21, "own" : 1]>
functions (int64 M, float x0) => (float y) {
  last = Loop <body = b (int64 i, bool c, float x) => (bool c2, float z) {
    c2 = Identity (c)
    z = own.twice <times = 3.0> (x)
  }> (M, , x0)
  y = own.twice (last)
}
<opset_import: ["" : 21], domain: "own">
twice <times: float = 2.0> (a) => (b) {
  factor = Constant <value_float: float = @times> ()
  b = Mul (a, factor)
}"""


@cache
def onnx_models() -> list[onnx.ModelProto]:
    """The models that broken ONNX files are made of."""
    texts = [f'<ir_version: 10, opset_import: ["" : 21]>\n{text}' for text in MODEL_TEXTS]
    results = [onnx.parser.parse_model(text) for text in (*texts, FUNCTION_MODEL_TEXT)]
    for path in sorted(SAMPLES.glob("*.onnx")):
        if path.stat().st_size < MAX_FILE_BYTES:
            results.append(onnx.load(path))
    for model in results:
        onnx.checker.check_model(model)
    return results


@cache
def ir_models() -> list[tuple[bytes, bytes]]:
    """The models that broken IR files are made of: their texts, and the files in their folders."""
    results = []
    for path in sorted(SAMPLES.glob("*.xml")):
        blob = path.with_suffix(".bin")
        if blob.stat().st_size < MAX_FILE_BYTES:
            results.append((path.read_bytes(), blob.read_bytes()))
    assert results
    return results


# --- Mutations without knowledge of the format.


def mutate_bytes(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Flip, set, truncate, delete, duplicate or splice in bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not changed:
            break
        index = rng.randrange(len(changed))
        length = min(rng.choice((1, 2, 4, 8, 64)), len(changed) - index)
        match rng.randrange(7):
            case 0:
                changed[index] ^= 1 << rng.randrange(8)
            case 1:
                changed[index] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del changed[index:]
            case 3:
                del changed[index : index + length]
            case 4:
                changed[index:index] = changed[index : index + length]
            case 5:
                start = rng.randrange(len(other) + 1)
                changed[index : index + length] = other[start : start + length]
            case 6:
                start = rng.randrange(len(changed))
                changed[index : index + length] = changed[start : start + length]
    return bytes(changed)


def mutate_tokens(rng: random.Random, text: str) -> str:
    """Delete, duplicate or swap words of a text, or replace them by numbers and brackets."""
    words = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        index = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                words[index] = ""
            case 1:
                words[index] *= 2
            case 2:
                other = rng.randrange(len(words))
                words[index], words[other] = words[other], words[index]
            case 3:
                words[index] = str(rng.choice(BOUNDARY_INTEGERS + BOUNDARY_FLOATS))
            case 4:
                words[index] = rng.choice(('"', "(", ")", "{", "}", "<", ">", "[", "]", ",", "@", "\\", "\x00", "é"))
    return "".join(words)


# --- Protobuf.


def all_messages(message: Message) -> Iterator[Message]:
    """A message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                yield from all_messages(part)


def mutate_field(rng: random.Random, model: onnx.ModelProto) -> None:
    """Change one field of one message anywhere in a model."""
    everything = list(all_messages(model))
    # Names, types and numbers rather than the thousands of dimensions and nodes around them.
    message = rng.choice(everything)
    fields = [field for field, _ in message.ListFields()]
    if not fields or rng.random() < 0.2:
        fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    field = rng.choice(fields)
    if field.is_repeated:
        _mutate_list(rng, getattr(message, field.name), field, everything)
    elif rng.random() < 0.15:
        message.ClearField(field.name)
    elif field.type == field.TYPE_MESSAGE:
        others = [m for m in everything if m.DESCRIPTOR is field.message_type]
        if others:
            part = deepcopy(rng.choice(others))
            getattr(message, field.name).CopyFrom(part)
    else:
        setattr(message, field.name, _random_scalar(rng, field, everything))


def _mutate_list(rng: random.Random, values: Any, field: Any, everything: list[Message]) -> None:
    count = len(values)
    action = rng.randrange(5) if count else 3
    if action == 0:
        del values[rng.randrange(count)]
    elif action == 1:
        del values[rng.randrange(count) :]
    elif action == 2 and count > 1:
        a, b = rng.sample(range(count), 2)
        if field.type == field.TYPE_MESSAGE:
            first, second = deepcopy(values[a]), deepcopy(values[b])
            values[a].CopyFrom(second)
            values[b].CopyFrom(first)
        else:
            values[a], values[b] = values[b], values[a]
    elif field.type == field.TYPE_MESSAGE:
        others = [m for m in everything if m.DESCRIPTOR is field.message_type]
        # Copied first, because the source may contain the list.
        part = deepcopy(rng.choice(others)) if others and rng.random() < 0.8 else None
        added = values.add()
        if part is not None:
            added.CopyFrom(part)
    elif action == 3 or not count:
        values.append(_random_scalar(rng, field, everything))
    else:
        values[rng.randrange(count)] = _random_scalar(rng, field, everything)


def _random_scalar(rng: random.Random, field: Any, everything: list[Message]) -> Any:
    """A value for a scalar field; texts are mostly names that occur elsewhere in the model."""
    if field.type == field.TYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values])
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        word: Any = _random_name(rng, everything)
        return word.encode() if field.type == field.TYPE_BYTES else word
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice(BOUNDARY_FLOATS)
    number = rng.choice(BOUNDARY_INTEGERS)
    if field.type in (field.TYPE_INT32, field.TYPE_SINT32, field.TYPE_SFIXED32):
        return max(min(number, 2**31 - 1), -(2**31)) if rng.random() < 0.3 else number % 30
    return max(number, 0) if field.type in (field.TYPE_UINT64, field.TYPE_UINT32) else number


def _random_name(rng: random.Random, everything: list[Message]) -> str:
    if rng.random() < 0.15:
        return rng.choice(("", " ", "a" * 300, "\x1b[31m\n", "é", "0", "-1", "i", "None", "../x", "Loop", "Scan", "If"))
    for _ in range(20):
        message = rng.choice(everything)
        words = [value for field, value in message.ListFields() if field.type == field.TYPE_STRING]
        if words:
            word = rng.choice(words)
            text: str = word if isinstance(word, str) else rng.choice(word)
            return text
    return "x"


def mutate_onnx_model(rng: random.Random) -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.CopyFrom(rng.choice(onnx_models()))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        mutate_field(rng, model)
    return model


# --- XML.


def mutate_ir(rng: random.Random, text: bytes) -> bytes:
    """Change, delete, duplicate and move attributes and elements of an IR."""
    root = etree.fromstring(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        elements = list(root.iter())
        element = rng.choice(elements)
        parent = element.getparent()
        match rng.randrange(7):
            case 0 | 1 | 2 | 3:
                _mutate_attribute(rng, element, elements)
            case 4 if parent is not None:
                parent.remove(element)
            case 5 if parent is not None:
                parent.insert(rng.randrange(len(parent) + 1), deepcopy(element))
            case 6:
                target = rng.choice(elements)
                target.insert(rng.randrange(len(target) + 1), deepcopy(element))
            case 7:
                element.text = rng.choice((str(rng.choice(BOUNDARY_INTEGERS)), "?", "", "x"))
    written: bytes = etree.tostring(root)
    return written


def _mutate_attribute(rng: random.Random, element: Any, elements: list[Any]) -> None:
    with_some = [e for e in elements if e.attrib]
    element = element if element.attrib else rng.choice(with_some)
    name = rng.choice(list(element.attrib))
    match rng.randrange(6):
        case 0:
            del element.attrib[name]
        case 1 | 2:
            element.set(name, str(rng.choice(BOUNDARY_INTEGERS)))
        case 3:
            element.set(name, rng.choice(ATTRIBUTES))
        case 4:
            others = [e.get(name) for e in with_some if e.get(name) is not None]
            element.set(name, rng.choice(others))
        case 5:
            other = rng.choice(with_some)
            key = rng.choice(list(other.attrib))
            element.set(key, other.get(key))


# --- The command lines for each kind.


def _commands(rng: random.Random, path: Path) -> list[str]:
    few = ["--max-iterations", "20"]
    match rng.randrange(7):
        case 0:
            return ["info", str(path)]
        case 1:
            return ["explain", str(path)]
        case 2:
            return ["info", str(path), "--json"]
        case 3:
            steps = ["list", "step", "next", "info values", "why", "step", "list", "continue"]
            return ["run", str(path), *few, *[word for step in steps for word in ("-ex", step)], "--batch"]
    return ["run", str(path), *few]


def _write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def onnx_fields(rng: random.Random, folder: Path) -> list[str]:
    return _commands(rng, _write(folder, "mutant.onnx", mutate_onnx_model(rng).SerializeToString()))


def onnx_bytes(rng: random.Random, folder: Path) -> list[str]:
    item, other = (rng.choice(onnx_models()).SerializeToString() for _ in range(2))
    return _commands(rng, _write(folder, "mutant.onnx", mutate_bytes(rng, item, other)))


def _text_form(rng: random.Random, folder: Path, suffix: str, write: Callable[[onnx.ModelProto], str]) -> list[str]:
    text = write(mutate_onnx_model(rng) if rng.random() < 0.5 else rng.choice(onnx_models()))
    if rng.random() < 0.7:
        text = mutate_tokens(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        data = mutate_bytes(rng, data, data)
    return _commands(rng, _write(folder, f"mutant{suffix}", data))


def onnx_text(rng: random.Random, folder: Path) -> list[str]:
    text = mutate_tokens(rng, rng.choice(_texts()))
    data = text.encode()
    if rng.random() < 0.3:
        data = mutate_bytes(rng, data, data)
    return _commands(rng, _write(folder, "mutant.onnxtxt", data))


@cache
def _texts() -> list[str]:
    """The models in ONNX's text form; its printer crashes on broken ones."""
    return [onnx.printer.to_text(model) for model in onnx_models()]


def onnx_textproto(rng: random.Random, folder: Path) -> list[str]:
    return _text_form(rng, folder, ".textproto", text_format.MessageToString)


def onnx_json(rng: random.Random, folder: Path) -> list[str]:
    return _text_form(rng, folder, ".json", json_format.MessageToJson)


def ir_elements(rng: random.Random, folder: Path) -> list[str]:
    text, blob = rng.choice(ir_models())
    _write(folder, "mutant.bin", blob if rng.random() < 0.9 else mutate_bytes(rng, blob, text))
    return _commands(rng, _write(folder, "mutant.xml", mutate_ir(rng, text)))


def ir_bytes(rng: random.Random, folder: Path) -> list[str]:
    text, blob = rng.choice(ir_models())
    other, _ = rng.choice(ir_models())
    _write(folder, "mutant.bin", blob if rng.random() < 0.8 else mutate_bytes(rng, blob, text))
    return _commands(rng, _write(folder, "mutant.xml", mutate_bytes(rng, text, other)))


def ir_words(rng: random.Random, folder: Path) -> list[str]:
    text, blob = rng.choice(ir_models())
    _write(folder, "mutant.bin", blob)
    return _commands(rng, _write(folder, "mutant.xml", mutate_tokens(rng, text.decode()).encode()))


MUTATORS: dict[str, Callable[[random.Random, Path], list[str]]] = {
    "onnx_fields": onnx_fields,
    "onnx_bytes": onnx_bytes,
    "onnx_text": onnx_text,
    "onnx_textproto": onnx_textproto,
    "onnx_json": onnx_json,
    "ir_elements": ir_elements,
    "ir_bytes": ir_bytes,
    "ir_words": ir_words,
}
