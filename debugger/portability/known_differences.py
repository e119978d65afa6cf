"""The known differences between runtimes and the specification, by label: the one table of them.

docs/check.md prints it. Front ends and runs attach the labels to notes (``Note.rule``), ``loop_rules.py`` and
``operator_rules.py`` find those that follow from the graph alone, and ``diff`` explains differences with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

ONNXRUNTIME, OPENVINO, TENSORRT, SPECIFICATION = "onnxruntime", "openvino", "tensorrt", "specification"
#: What a model can be checked for.
TARGETS = (ONNXRUNTIME, OPENVINO, TENSORRT, SPECIFICATION)
#: Evidence that is no public issue: a model of the tests, run with the runtime.
PROBE = "probe"
#: Evidence about TensorRT, which the tests cannot run: its headers, and the source of its ONNX importer.
_HEADER, _IMPORTER = "NvInfer.h", "onnx/onnx-tensorrt onnxOpImporters.cpp"


class TargetVerdict(StrEnum):
    """What a target does with a part of a model; the gravest one comes first."""

    DOES_NOT_LOAD = "does not load"
    DIFFERS = "behaves differently"
    UNKNOWN = "unknown"
    FINE = "fine"


NO, DIFFERS = TargetVerdict.DOES_NOT_LOAD, TargetVerdict.DIFFERS


@dataclass(frozen=True)
class KnownDifference:
    """A known difference.

    ``text``: what a runtime does, or what the specification forbids. ``verdicts``: by target; targets that are not
    listed have no difference. ``effects``: what ``diff`` sees of it: trips, values, failure. ``evidence``: public
    issues, or ``PROBE``. ``remedy``: how to change the model; empty where nothing but the runtime can.
    ``needs_run``: it depends on the inputs, so that the graph alone does not show it.
    """

    text: str
    verdicts: Mapping[str, TargetVerdict]
    effects: tuple[str, ...] = ()
    evidence: tuple[str, ...] = (PROBE,)
    remedy: str = ""
    needs_run: bool = False

    @property
    def peers(self) -> tuple[str, ...]:
        """The runtimes that ``diff`` can compare with and that differ."""
        return tuple(name for name in (ONNXRUNTIME, OPENVINO) if name in self.verdicts) if self.effects else ()


_IDENTITY = "return it through an Identity"
_RENAME = "rename the value inside the body"

#: Known differences by label. B: runtimes and the specification; T: TensorRT.
KNOWN_DIFFERENCES: Mapping[str, KnownDifference] = {
    "B1": KnownDifference(
        "an ONNX Loop without `cond`: onnxruntime and OpenVINO use the condition of the body, which the specification"
        " ignores",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS},
        ("trips",),
        remedy="pass a true cond if the body's condition is meant, else return true from the body",
    ),
    "B7": KnownDifference(
        "onnxruntime returns the iteration number without a copy and then increments it in place",
        {ONNXRUNTIME: DIFFERS},
        ("values",),
        remedy=_IDENTITY,
    ),
    "B8": KnownDifference(
        "OpenVINO writes back edges one after another, so that swapped values are lost",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        remedy="compute each result of the body, for example by adding zero: an Identity is removed",
    ),
    "B9": KnownDifference(
        "onnxruntime computes wrong values if the body of a Scan returns its input directly",
        {ONNXRUNTIME: DIFFERS},
        ("values", "trips"),
        remedy=_IDENTITY,
    ),
    "B10": KnownDifference(
        "onnxruntime moves strings into a scan output, also out of a value that an Identity copies; later iterations"
        " that need this value get empty strings",
        {ONNXRUNTIME: DIFFERS},
        ("values",),
        remedy="return the string itself and not an Identity of it",
    ),
    "B14": KnownDifference(
        "OpenVINO treats a negative trip count as no limit; below -1, a loop with scan outputs returns uninitialised"
        " memory",
        {OPENVINO: DIFFERS},
        ("trips", "values", "failure"),
        remedy="limit the trip count from below with Max(M, 0)",
    ),
    "B15": KnownDifference(
        "OpenVINO truncates trip counts to 32 bits",
        {OPENVINO: DIFFERS},
        ("trips", "values"),
        remedy="limit the trip count with Min",
        needs_run=True,
    ),
    "B16": KnownDifference(
        "if `cond` is always false, OpenVINO returns initial values or uninitialised memory as scan outputs, or refuses"
        " the loop",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        remedy="remove the loop: it never runs",
    ),
    "B17": KnownDifference(
        "onnxruntime crashes on an omitted carried value of a Loop, and refuses any other omitted output of a Loop or"
        " Scan",
        {ONNXRUNTIME: NO},
        ("failure",),
        ("microsoft/onnxruntime#10361", PROBE),
        remedy="give each output of the loop a name",
    ),
    "B19": KnownDifference(
        "a Scan over an empty axis: onnxruntime refuses it, OpenVINO returns uninitialised memory",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS},
        ("values", "failure"),
        needs_run=True,
    ),
    "B21": KnownDifference(
        "OpenVINO cannot convert a Scan whose body uses an outer value",
        {OPENVINO: NO},
        ("failure",),
        remedy="pass the value as a state that the body returns through an Add of zero, or use a Loop",
    ),
    "B22": KnownDifference(
        "OpenVINO uses the `start` of a sliced input for the number of iterations, but slices from 0",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="cut the tensor with a StridedSlice before the loop",
    ),
    "B23": KnownDifference(
        "OpenVINO refuses or ignores a negative axis in an IR",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        remedy="count the axis from the front",
    ),
    "B24": KnownDifference(
        "OpenVINO passes an input port to only one body Parameter",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="give the second Parameter an input port of its own",
    ),
    "B28": KnownDifference(
        "OpenVINO cannot convert nested loops whose bodies have inputs of the same name",
        {OPENVINO: NO},
        ("failure",),
        remedy=_RENAME,
    ),
    "B29": KnownDifference(
        "OpenVINO computes 64-bit integers in 32 bits, float64 as float32",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        ("openvinotoolkit/openvino#35890", "openvinotoolkit/openvino#37957", PROBE),
        remedy="compute in float32, or keep the numbers within 32 bits",
    ),
    "B33": KnownDifference(
        "onnxruntime on a processor without VNNI adds pairs of u8 x s8 products in 16 bits, which saturate",
        {ONNXRUNTIME: DIFFERS},
        ("values", "trips"),
        remedy="quantise the weights to 7 bits, or set the session's entry session.x64quantprecision to 1",
        needs_run=True,
    ),
    "B34": KnownDifference(
        "OpenVINO loses the reversal of the input of a TensorIterator with one LSTM, GRU or RNN cell, if the output is"
        " not reversed",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="reverse the output as well, and reverse it again after the loop",
    ),
    "B35": KnownDifference(
        "OpenVINO applies Softmax before opset 13 over one axis; the specification says over all axes from that one on",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        ("openvinotoolkit/openvino#37823", PROBE),
        remedy="flatten the axes with a Reshape before, or convert the model to opset 13 (onnx.version_converter)",
    ),
    "B36": KnownDifference(
        "onnxruntime and OpenVINO refuse a body whose nodes are not in topological order; they sort only the main"
        " graph",
        {ONNXRUNTIME: NO, OPENVINO: NO, SPECIFICATION: NO},
        ("failure",),
        ("onnx/tensorflow-onnx#716", "microsoft/onnxruntime#10941", PROBE),
        remedy="sort the nodes of the body",
    ),
    "B37": KnownDifference(
        "OpenVINO refuses a file with a body whose input has the name of a visible outer value, which the IR"
        " specification forbids",
        {OPENVINO: NO, SPECIFICATION: NO},
        ("failure",),
        ("opendatalab/PDF-Extract-Kit#238", "ROCm/AMDMIGraphX#5078", "onnx/onnx#6955", PROBE),
        remedy=_RENAME,
    ),
    "B38": KnownDifference(
        "onnxruntime refuses a body that declares its iteration number with another type than int64",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        remedy="declare it as int64 and cast it inside the body",
    ),
    "B39": KnownDifference(
        "OpenVINO ignores a back edge into a parameter that also has a slice",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="use one Parameter for the slice and another for the carried value",
    ),
    "B40": KnownDifference(
        "onnxruntime refuses a body, or a branch of an If, that returns an outer value directly",
        {ONNXRUNTIME: NO},
        ("failure",),
        ("microsoft/onnxruntime#11536", "microsoft/onnxruntime#5991", PROBE),
        remedy=_IDENTITY,
    ),
    "B41": KnownDifference(
        "OpenVINO refuses a TensorIterator inside a TensorIterator",
        {OPENVINO: NO},
        ("failure",),
        remedy="make the inner one a Loop",
    ),
    "B42": KnownDifference(
        "OpenVINO computes float16 as float32: values are compared within 5 % of their largest number",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        needs_run=True,
    ),
    "B44": KnownDifference(
        "both refuse a node whose inputs have two types, if its operator requires one type",
        {ONNXRUNTIME: NO, OPENVINO: NO, SPECIFICATION: NO},
        ("failure",),
        ("NVIDIA/TensorRT#411", PROBE),
        remedy="put a Cast before the input of the narrower type",
    ),
    "B45": KnownDifference(
        "`clip` of an LSTM bounds the inputs of the gates and not the cell state, in both runtimes; the text of the"
        " specification can be read otherwise",
        {},
        needs_run=True,
    ),
    "B46": KnownDifference(
        "OpenVINO refuses a loop whose `port_map` declares another `part_size` than the parts of an output have; if"
        " only a run tells, it fails or returns uninitialised memory",
        {OPENVINO: NO},
        ("values", "failure"),
        remedy="declare the rows of a part as part_size and stride",
    ),
    "B47": KnownDifference(
        "onnxruntime writes only the last one, if the body of a Scan, or a branch of an If, lists a value as several"
        " outputs",
        {ONNXRUNTIME: DIFFERS},
        ("values", "trips"),
        remedy=_IDENTITY,
    ),
    "B48": KnownDifference(
        "onnxruntime refuses a loop whose body declares a carried value in another type than its initial value has",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        remedy="cast the initial value before the loop",
    ),
    "B49": KnownDifference(
        "OpenVINO cannot read an ONNX file with a Loop or Scan whose body returns one of its inputs, or an outer value"
        " that is no constant, directly",
        {OPENVINO: NO},
        ("failure",),
        remedy=_IDENTITY,
    ),
    "B50": KnownDifference(
        "OpenVINO cannot convert a body that hands its condition input on and also reads it, or, without `cond`,"
        " computes carried scalars from it",
        {OPENVINO: NO},
        ("failure",),
        remedy="read a true constant instead",
    ),
    "B51": KnownDifference(
        "onnxruntime, and TensorRT's parser, read no OpenVINO IR",
        {ONNXRUNTIME: NO, TENSORRT: NO},
        evidence=("file formats",),
        remedy="export the model to ONNX as well; for TensorRT, convert writes a script of it",
    ),
    "B52": KnownDifference(
        "onnxruntime and the specification refuse a trip count that is not int64, and a condition that is not bool",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        remedy="put a Cast before the loop",
    ),
    "B53": KnownDifference(
        "onnxruntime refuses a `cond` of another rank than the body declares for it, such as [1] for a scalar",
        {ONNXRUNTIME: NO},
        ("failure",),
        ("enpasos/jax2onnx#37", PROBE),
        remedy="reshape cond before the loop, or declare both alike",
    ),
    "B54": KnownDifference(
        "OpenVINO's CPU plugin refuses a carried value whose rank changes from iteration to iteration",
        {OPENVINO: NO},
        ("failure",),
        ("openvinotoolkit/openvino#25051", PROBE),
        remedy="keep the rank, and make one dimension grow",
    ),
    "B55": KnownDifference(
        "onnxruntime refuses a body that returns a carried value in another type than it takes it",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        ("NVIDIA/TensorRT#411", PROBE),
        remedy="put a Cast before the output of the body",
    ),
    "B56": KnownDifference(
        "OpenVINO has no operators that compute with strings, no scan outputs of them, and no loops over them of known"
        " shapes",
        {OPENVINO: NO},
        ("failure",),
        remedy="map the strings to numbers outside the model",
    ),
    "B57": KnownDifference(
        "OpenVINO refuses sequences as inputs or outputs of a model, SequenceMap, reductions of SequenceAt in a loop,"
        " and loops that carry sequences otherwise than by SequenceInsert at the end",
        {OPENVINO: NO},
        ("failure",),
        ("openvinotoolkit/openvino#15094", "openvinotoolkit/openvino#32477", PROBE),
        remedy="carry a tensor and Concat to it, or use a scan output",
    ),
    "B58": KnownDifference(
        "OpenVINO has no conversion rule for the operator",
        {OPENVINO: NO},
        ("failure",),
        ("openvinotoolkit/openvino#15094", PROBE),
        remedy="compose it of other operators, or add an OpenVINO extension",
    ),
    "B59": KnownDifference(
        "onnxruntime's CPU provider has no kernel for the operator with this element type",
        {ONNXRUNTIME: NO},
        ("failure",),
        remedy="Cast to float32 before it, and back after it",
    ),
    "B60": KnownDifference(
        "a constant has the size of the export's example: other sizes that the inputs allow fail in onnxruntime and"
        " read uninitialised memory in OpenVINO",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS, TENSORRT: DIFFERS},
        (),
        ("pytorch/pytorch#87677", "pytorch/pytorch#107841", PROBE),
        remedy="export with that dimension dynamic, or compute the size from Shape",
    ),
    "B61": KnownDifference(
        "LSTM, GRU and RNN with layout=1: onnxruntime and TensorRT refuse them, OpenVINO ignores the attribute",
        {ONNXRUNTIME: NO, OPENVINO: DIFFERS, TENSORRT: NO},
        ("values", "failure"),
        ("openvinotoolkit/openvino#37820", "opencv/opencv#26456", PROBE),
        remedy="use layout=0 and transpose inputs and outputs",
    ),
    "B62": KnownDifference(
        "OpenVINO ignores input_forget=1 of an LSTM, and TensorRT refuses it",
        {OPENVINO: DIFFERS, TENSORRT: NO},
        ("values",),
        remedy="write the cell out as a Loop or Scan",
    ),
    "B63": KnownDifference(
        "OpenVINO knows the activations Sigmoid, Tanh and Relu of LSTM, GRU and RNN only",
        {OPENVINO: NO},
        ("failure",),
        ("openvinotoolkit/openvino#13470", PROBE),
        remedy="write the cell out as a Loop or Scan",
    ),
    "B64": KnownDifference(
        "without activation_alpha and activation_beta, onnxruntime computes Affine, ScaledTanh and ThresholdedRelu of"
        " LSTM, GRU and RNN with zeros instead of the operators' defaults",
        {ONNXRUNTIME: DIFFERS},
        ("values",),
        remedy="state activation_alpha and activation_beta",
    ),
    "B65": KnownDifference(
        "a scan output is declared with the trip count as its length, although the condition may end the loop earlier",
        {SPECIFICATION: NO},
        (),
        ("onnx/onnx#8135", "onnx/onnx#8146"),
        remedy="declare the first dimension as unknown",
    ),
    "B66": KnownDifference(
        "onnxruntime 1.32 reads operator sets up to 28",
        {ONNXRUNTIME: NO},
        ("failure",),
        remedy="convert the model to an earlier opset (onnx.version_converter)",
    ),
    "B67": KnownDifference(
        "a state of a Scan whose shape changes: OpenVINO returns uninitialised memory, and onnxruntime fails; the"
        " specification wants one shape",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS, SPECIFICATION: NO},
        ("values", "failure"),
        remedy="use a Loop",
    ),
    "B68": KnownDifference(
        "an operator of a domain of its own: no rule tells whether the target has it",
        {ONNXRUNTIME: TargetVerdict.UNKNOWN, OPENVINO: TargetVerdict.UNKNOWN, TENSORRT: TargetVerdict.UNKNOWN},
        evidence=(),
        remedy="register it with the runtime, and try the model there",
    ),
    "B69": KnownDifference(
        "a map, such as the output of ZipMap: OpenVINO and TensorRT have no maps",
        {OPENVINO: NO, TENSORRT: NO},
        ("failure",),
        remedy="export without ZipMap (skl2onnx: options zipmap=False)",
    ),
    "B70": KnownDifference(
        "loops that append to a sequence, SequenceAt and SequenceErase, and ConcatFromSequence inside a loop: OpenVINO"
        " converts some of them",
        {OPENVINO: TargetVerdict.UNKNOWN},
        evidence=(),
        remedy="try the model in the runtime",
    ),
    "B71": KnownDifference(
        "onnxruntime and OpenVINO read no scripts of TensorRT networks",
        {ONNXRUNTIME: NO, OPENVINO: NO},
        evidence=("file formats",),
        remedy="diff against a runtime converts the network to ONNX",
    ),
    "B72": KnownDifference(
        "OpenVINO does not return the initial value of a carried value after no iteration if the body does not read it",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="let the body read it, for example by adding zero times it",
        needs_run=True,
    ),
    "B73": KnownDifference(
        "OpenVINO gives the condition input of a loop without `cond` the shape [1], and with it scan outputs that are"
        " computed from it",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="pass a true constant as cond",
    ),
    "B74": KnownDifference(
        "strings in a loop of unknown shapes: no rule tells what OpenVINO computes",
        {OPENVINO: TargetVerdict.UNKNOWN},
        evidence=(),
        remedy="try the model in the runtime",
    ),
    "B75": KnownDifference(
        "an LSTM, GRU or RNN whose directions have different activations: OpenVINO takes the first ones for both, and"
        " TensorRT refuses it",
        {OPENVINO: DIFFERS, TENSORRT: NO},
        ("values",),
        ("onnx/onnx-tensorrt docs/operators.md", PROBE),
        remedy="split it into two operators, one of them with direction=reverse",
    ),
    "B76": KnownDifference(
        "OpenVINO takes the outer value where an initializer of a body has the name of one, which the IR specification"
        " forbids",
        {OPENVINO: DIFFERS, SPECIFICATION: NO},
        ("values",),
        ("onnx/onnx#6955", PROBE),
        remedy=_RENAME,
    ),
    "B77": KnownDifference(
        "OpenVINO refuses a Where of Booleans whose condition is also one of the two values",
        {OPENVINO: NO},
        ("failure",),
        remedy="use And or Or of the two Booleans",
    ),
    "B78": KnownDifference(
        "onnxruntime refuses a Scan whose state changes its shape by the declared sizes",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        remedy="use a Loop",
    ),
    "B79": KnownDifference(
        "OpenVINO gives a carried value the type of its initial value, and refuses an operator in which that meets the"
        " type that the body declares",
        {OPENVINO: NO},
        ("failure",),
        remedy="cast the initial value before the loop",
    ),
    "B80": KnownDifference(
        "OpenVINO keeps nothing of a variable with a dynamic shape; what reads it may get uninitialised memory",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="declare the shape of the variable",
        needs_run=True,
    ),
    "B81": KnownDifference(
        "OpenVINO ignores the sequence lengths of LSTM, GRU or RNN in a model of dynamic shape",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="declare the shapes",
        needs_run=True,
    ),
    "B82": KnownDifference(
        "a runtime or a framework computes a recurrent operator with another attribute, such as `linear_before_reset`"
        " of a GRU",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS},
        ("values",),
        remedy="set the attribute as the framework computes",
        needs_run=True,
    ),
    "B83": KnownDifference(
        "OpenVINO computes in the precision that `INFERENCE_PRECISION_HINT` says, such as bf16",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="set INFERENCE_PRECISION_HINT=f32",
        needs_run=True,
    ),
    "B84": KnownDifference(
        "OpenVINO's CPU plugin refuses an If whose branches return another number of dimensions each",
        {OPENVINO: NO},
        ("failure",),
        ("microsoft/onnxruntime#23757", "openvinotoolkit/openvino#36181", PROBE),
        remedy="reshape the result of one branch",
    ),
    "B85": KnownDifference(
        "OpenVINO returns a scalar with one dimension if the other branch of its If returns one dimension",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        remedy="reshape the result of one branch",
    ),
    "B86": KnownDifference(
        "a condition of an If with several elements: onnxruntime fails, and OpenVINO takes the first; the specification"
        " wants one",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS, SPECIFICATION: NO},
        ("values", "failure"),
        ("microsoft/onnxruntime#18549", "onnx/onnx#3541", PROBE),
        remedy="reduce it to one element: ReduceMax after a Cast",
    ),
    "B87": KnownDifference(
        "OpenVINO gives Expand of a scalar to no dimensions one dimension, and refuses Tile of it",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        ("openvinotoolkit/openvino#37598", PROBE),
        remedy="remove the operator: it does nothing",
    ),
    "B88": KnownDifference(
        "OpenVINO computes comparisons, reductions, Div, MatMul, Mod and Pow of integers in float32: numbers beyond"
        " 2^24 are rounded",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        (
            "openvinotoolkit/openvino#35829",
            "openvinotoolkit/openvino#35838",
            "openvinotoolkit/openvino#37766",
            PROBE,
        ),
        remedy="keep the numbers below 2^24, or split them into two",
    ),
    "B89": KnownDifference(
        "onnxruntime refuses a Squeeze of a dimension that is declared with another size than one, also in a branch"
        " that is never taken",
        {ONNXRUNTIME: NO},
        ("failure",),
        ("microsoft/onnxruntime#9339", PROBE),
        remedy="remove the branch, or declare the dimension as unknown",
    ),
    "B90": KnownDifference(
        "OpenVINO returns another number for SequenceLength of a sequence that a loop appends to",
        {OPENVINO: DIFFERS},
        ("values", "failure"),
        remedy="count in the loop: carry a number",
    ),
    "B91": KnownDifference(
        "OpenVINO reads a constant without elements as a scalar, and refuses a loop that carries it, such as the cache"
        " of a decoder",
        {OPENVINO: NO},
        ("failure", "values"),
        ("loopdbg repro of an exported decoder", PROBE),
        remedy="make it with ConstantOfShape",
    ),
    "B92": KnownDifference(
        "OpenVINO reads a constant without elements as a scalar: Shape, Size, Cast, Identity and reductions of it"
        " differ",
        {OPENVINO: DIFFERS},
        ("values",),
        remedy="make it with ConstantOfShape",
    ),
    "B93": KnownDifference(
        "OpenVINO refuses an If whose branches return another number of dimensions each, unless it can compute the"
        " condition from shapes when it loads the model",
        {OPENVINO: TargetVerdict.UNKNOWN},
        evidence=(),
        remedy="export without the If: squeeze or keep the dimension in both cases",
    ),
    "B94": KnownDifference(
        "ReduceMax, ReduceMin, ArgMax and ArgMin of NaN: onnxruntime takes NaN only where it comes first; in OpenVINO,"
        " also in TopK, its place decides what is taken",
        {ONNXRUNTIME: DIFFERS, OPENVINO: DIFFERS},
        ("values", "trips"),
        remedy="replace NaN before: Where of IsNaN",
        needs_run=True,
    ),
    "B95": KnownDifference(
        "OpenVINO's TopK of one element along the last axis may select another one of equal numbers than the first",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        remedy="use ArgMax or ArgMin",
        needs_run=True,
    ),
    "B96": KnownDifference(
        "OpenVINO's ReduceMax of negative infinities only, and ReduceMin of positive ones, is a finite number",
        {OPENVINO: DIFFERS},
        ("values", "trips"),
        remedy="mask with a finite number instead of an infinity",
        needs_run=True,
    ),
    "S1": KnownDifference(
        "an element type that the operator does not list in this version of its operator set",
        {ONNXRUNTIME: NO, SPECIFICATION: NO},
        ("failure",),
        ("pytorch/pytorch#125753", "microsoft/onnxruntime#310", "ONNX operator schemas", PROBE),
        remedy="put a Cast before the operator, or import a newer operator set",
    ),
    "S2": KnownDifference(
        "the specification rejects the file, and so does loopdbg: the targets cannot be checked by rules",
        {
            SPECIFICATION: NO,
            ONNXRUNTIME: TargetVerdict.UNKNOWN,
            OPENVINO: TargetVerdict.UNKNOWN,
            TENSORRT: TargetVerdict.UNKNOWN,
        },
        evidence=("ONNX and OpenVINO specifications",),
        remedy="change the file as the error says",
    ),
    "T1": KnownDifference(
        "a loop without trip count and `cond` has no trip limit in TensorRT, which is a build error",
        {TENSORRT: NO},
        evidence=(_HEADER, _IMPORTER),
        remedy="pass a trip count",
    ),
    "T2": KnownDifference(
        "TensorRT's importer takes a constant trip count of 2^31-1 and more for none and then does not define the"
        " iteration number",
        {TENSORRT: NO},
        evidence=(_IMPORTER,),
        remedy="pass a smaller trip count, or carry a counter",
    ),
    "T3": KnownDifference(
        "TensorRT's importer does not define the condition input of the body of a loop without `cond`",
        {TENSORRT: NO},
        evidence=(_IMPORTER,),
        remedy="pass a true constant as cond",
    ),
    "T4": KnownDifference(
        "a scan output has the trip count as its length in TensorRT, with arbitrary elements if the condition ends the"
        " loop earlier",
        {TENSORRT: DIFFERS},
        evidence=(_HEADER, _IMPORTER),
        remedy="also return the number of iterations, and slice the scan output by it",
    ),
    "T5": KnownDifference(
        "TensorRT wants a constant length of scan outputs: a trip count that is computed, or none, is refused or padded"
        " to 1024",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md", _IMPORTER),
        remedy="use a constant trip count and a condition, or a carried tensor of fixed size",
    ),
    "T6": KnownDifference(
        "TensorRT wants one shape of a carried value in all iterations",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md", _HEADER),
        remedy="carry a tensor of the largest size and the number of rows in use",
    ),
    "T7": KnownDifference(
        "TensorRT's importer reads the first state of a Scan, and fails without one",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt#543", _IMPORTER),
        remedy="add a state that is handed on through an Identity",
    ),
    "T8": KnownDifference(
        "TensorRT's parser does not support the operator",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md", "onnx/onnx-tensorrt#1044"),
        remedy="compose it of other operators, or write a plugin",
    ),
    "T9": KnownDifference(
        "TensorRT computes float64 as float32",
        {TENSORRT: DIFFERS},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="compute in float32",
    ),
    "T10": KnownDifference(
        "a Loop of TensorRT carries float32, float16, bfloat16, int32, int64 and bool only, a Scan the first three",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="cast the value to int32 or float32",
    ),
    "T11": KnownDifference(
        "TensorRT wants the same rank of both branches of an If",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="reshape the result of one branch",
    ),
    "T12": KnownDifference(
        "an operator that the support table of TensorRT's parser does not list",
        {TENSORRT: TargetVerdict.UNKNOWN},
        evidence=(),
        remedy="parse the model with trtexec",
    ),
    "T13": KnownDifference(
        "TensorRT's parser supports the operator for other element types only",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="Cast before it, and back after it",
    ),
    "T14": KnownDifference(
        "TensorRT's parser wants axes, the depth of OneHot and the like to be constant, and does not support some"
        " attributes and further outputs",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="export with constants there, or compose the operator of others",
    ),
    "T15": KnownDifference(
        "TensorRT wants the results of the two branches of an If to have different names",
        {TENSORRT: NO},
        evidence=("onnx/onnx-tensorrt docs/operators.md",),
        remedy="rename the results of one branch",
    ),
}
