"""The operators of TensorRT's ONNX parser, by the support table of onnx/onnx-tensorrt (docs/operators.md, 10.1)."""

from __future__ import annotations

from collections.abc import Mapping

_FLOATS = "float32 float16 bfloat16"
_NUMBERS = f"{_FLOATS} int32 int64"
_ANY = f"{_NUMBERS} bool"
#: Types of the data -> operators. float64 is computed as float32.
_NAMES_BY_TYPES: Mapping[str, str] = {
    _NUMBERS: """
Abs Add ArgMax ArgMin DepthToSpace Div Equal Greater GreaterOrEqual IsNaN Less LessOrEqual Max Mean Min Mod Mul Neg Pad
Range ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare Relu Scatter ScatterElements ScatterND Shrink Sign SpaceToDepth Sub Sum TopK
""",
    f"{_NUMBERS} int8": "Gelu",
    _FLOATS: """
Acos Acosh Asin Asinh Atan Atanh AveragePool BatchNormalization Ceil Celu Clip Conv ConvTranspose Cos Cosh CumSum
Dropout Einsum Elu Erf Exp Floor GRU Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool GroupNormalization HardSigmoid
HardSwish Hardmax ImageScaler InstanceNormalization IsInf LRN LSTM LayerNormalization LeakyRelu Log LogSoftmax
LpNormalization LpPool MatMul MaxPool MeanVarianceNormalization PRelu ParametricSoftplus Pow QuantizeLinear RNN
Reciprocal Resize Round ScaledTanh Scan Selu Sigmoid Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu
Upsample
""",
    "float32 float16": "DeformConv GridSample Mish NonMaxSuppression NonZero RoiAlign",
    "bool": "And Not Or Xor",
    f"{_ANY} uint8": "Cast CastLike",
    _ANY: """
Concat Constant Expand EyeLike Flatten Gather GatherElements GatherND Identity If Loop OneHot Reshape ReverseSequence
Shape Size Slice Split Squeeze Tile Transpose Trilu Unsqueeze Where
""",
}
#: Operator -> the types of its data. Empty: the table has the types of results, or those of quantised numbers.
SUPPORTED: Mapping[str, frozenset[str]] = {
    **{name: frozenset(types.split()) for types, names in _NAMES_BY_TYPES.items() for name in names.split()},
    **dict.fromkeys(
        ("ConstantOfShape", "DequantizeLinear", "RandomNormal", "RandomNormalLike", "RandomUniform",
         "RandomUniformLike"),
        frozenset(),
    ),
}  # fmt: skip
#: Inputs with the data, where it is not the first one.
DATA_INPUTS = {"OneHot": 2, "Where": 1}
#: Inputs that have to be constant, by position.
CONSTANT_INPUTS: Mapping[str, int] = {
    "CumSum": 1,
    "OneHot": 1,
    "Pad": 3,
    "Slice": 3,
    "Squeeze": 1,
    "Unsqueeze": 1,
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
         "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        1,
    ),
}  # fmt: skip
#: Attributes that have to have a value: operator -> attribute, value.
FIXED_ATTRIBUTES: Mapping[str, tuple[str, object]] = {"ScatterND": ("reduction", "none"), "TopK": ("sorted", 1)}
#: Operators of which only the first output is supported.
FIRST_OUTPUT_ONLY = frozenset(("LayerNormalization", "MaxPool"))
MAX_TOP_K = 3839

_UNSUPPORTED_NAMES = """
AffineGrid Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow CenterCropPad Col2Im
Compress ConcatFromSequence ConvInteger DFT Det DynamicQuantizeLinear HammingWindow HannWindow ImageDecoder
MatMulInteger MaxRoiPool MaxUnpool MelWeightMatrix Multinomial NegativeLogLikelihoodLoss Optional
OptionalGetElement OptionalHasElement QLinearConv QLinearMatMul RegexFullMatch STFT SequenceAt
SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap
SoftmaxCrossEntropyLoss SplitToSequence StringConcat StringNormalizer StringSplit TfIdfVectorizer Unique
"""
UNSUPPORTED = frozenset(_UNSUPPORTED_NAMES.split())
