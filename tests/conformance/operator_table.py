"""A row of inputs for every operator that can have kernels; a missing row is an error."""

from __future__ import annotations

from collections.abc import Sequence

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from . import cases_movement as movement
from . import cases_products as products
from . import cases_sequences as sequences
from .case_values import ALL, FLOATS, INTS, MOVED, NUMBERS, SUMMED, Cases, Row
from .cases_openvino import TRIED, as_tried, read
from .cases_pointwise import (
    casts,
    casts_like,
    chosen,
    divisions,
    each_way,
    either,
    one,
    powers,
    quantised,
    quantising,
    ranges_quantised,
    three,
    two,
)


def _rows_of_onnx() -> dict[str, Row]:
    rows: dict[str, Row] = {}

    def add(names: str, dtypes: Sequence[str], cases: Cases, pointwise: bool = False) -> None:
        rows.update(dict.fromkeys(names.split(), Row(dtypes, cases, pointwise, names.startswith("Cast"))))

    add("Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish IsNaN Log Mish", FLOATS, one, True)
    add("Reciprocal Relu Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh", FLOATS, one, True)
    add("Abs Neg Sign", NUMBERS, one, True)
    add("Not", ("bool",), one, True)
    add("BitwiseNot", INTS, one, True)
    add("Identity", ALL, one, True)
    add("Celu Elu LeakyRelu ThresholdedRelu", FLOATS, each_way(one, {}, {"alpha": 0.3}), True)
    add("Swish", FLOATS, each_way(one, {}, {"alpha": 0.3}), True)
    add("HardSigmoid", FLOATS, each_way(one, {}, {"alpha": 0.3, "beta": 0.1}), True)
    add("Selu", FLOATS, each_way(one, {}, {"alpha": 0.3, "gamma": 2.0}), True)
    add("Gelu", FLOATS, each_way(one, {}, {"approximate": "tanh"}), True)
    add("IsInf", FLOATS, each_way(one, {}, {"detect_negative": 0}, {"detect_positive": 0}), True)
    add("Cast", ALL, casts(System.ONNX), True)
    add("CastLike", ALL, casts_like, True)
    add("Clip", NUMBERS, either(three, each_way(one, {"min": -1.0, "max": 5.0}, {"max": 0.0}, {"min": 0.0}), 11), True)
    add("Add Sub Mul Max Min Sum Mean", NUMBERS, two, True)
    add("Div", NUMBERS, divisions, True)
    add("Mod", NUMBERS, each_way(divisions, {"fmod": 1}), True)
    add("Pow", NUMBERS, powers, True)
    add("PRelu", NUMBERS, two, True)
    add("Equal", ALL, two, True)
    add("Less LessOrEqual Greater GreaterOrEqual", NUMBERS, two, True)
    add("And Or Xor", ("bool",), two, True)
    add("BitwiseAnd BitwiseOr BitwiseXor", INTS, two, True)
    add("BitShift", INTS[4:], each_way(two, {"direction": "LEFT"}, {"direction": "RIGHT"}), True)
    add("Where", ALL, chosen, True)
    add("Dropout", FLOATS, movement.dropped)
    add("DequantizeLinear", ("int8", "uint8", "int16", "uint16", "int32"), quantised)
    add("QuantizeLinear", ("float32", "float16"), quantising)
    add("DynamicQuantizeLinear", ("float32",), ranges_quantised)

    reduced = either(products.reductions(True, "keepdims", 1, 0), products.reductions(False, "keepdims", 1, 0), 18)
    add("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd", SUMMED, reduced)
    add("ReduceSumSquare", SUMMED, reduced)
    add("ReduceMean", SUMMED, products.whole_means(reduced))
    add(
        "ReduceSum",
        SUMMED,
        either(products.reductions(True, "keepdims", 1, 0), products.reductions(False, "keepdims", 1, 0), 13),
    )
    add(
        "ArgMax ArgMin",
        SUMMED,
        either(each_way(products.along_axes(), {}, {"select_last_index": 1}), products.along_axes(), 12),
    )
    add("Softmax LogSoftmax Hardmax", FLOATS, products.along_axes())
    add("LpNormalization", FLOATS, each_way(products.along_axes(), {"p": 1}, {"p": 2}))
    add("CumSum CumProd", SUMMED, products.running({}, {"exclusive": 1}, {"reverse": 1}))
    add("MatMul", (*FLOATS, "int32", "int64", "uint8"), products.products)
    add("MatMulInteger", ("int8", "uint8"), products.integer_products)
    add("QLinearMatMul", ("int8", "uint8"), products.qlinear_products)
    add("Gemm", (*FLOATS, "int32", "int64"), products.gemms)
    add("Conv", FLOATS, movement.convolved(False, False))
    add("ConvTranspose", FLOATS, movement.convolved(True, False))
    add("MaxPool", (*FLOATS, "int8", "uint8"), movement.pooled({}, both=True))
    add("AveragePool", FLOATS, either(movement.pooled({}, {"count_include_pad": 1}), movement.pooled({}), 7))
    add("LpPool", FLOATS, movement.pooled({}, {"p": 1}, {"p": 3}))
    add("GlobalMaxPool GlobalAveragePool GlobalLpPool", FLOATS, movement.over_all)
    add("ConvInteger", ("int8", "uint8"), movement.integer_convolutions)
    add("QLinearConv", ("int8", "uint8"), movement.qlinear_convolutions)
    add("BatchNormalization", FLOATS, products.batch_norms)
    add("LayerNormalization", FLOATS, products.layer_norms)
    add("TopK", NUMBERS, products.tops)
    add("GatherElements", MOVED, products.element_gathers)
    add("GatherND", MOVED, products.tuple_gathers)
    add("Scatter ScatterElements", SUMMED, products.element_scatters(False))
    add("ScatterND", SUMMED, products.tuple_scatters("add", "mul", "max", "min", since=16))
    add("TensorScatter", MOVED, products.cache_scatters)
    add("Attention", FLOATS, products.attentions)
    add("RotaryEmbedding", FLOATS, products.rotated)
    add("RMSNormalization", FLOATS, products.scaled_norms())
    add("InstanceNormalization", FLOATS, products.channel_norms({}, {"epsilon": 0.25}))
    add("GroupNormalization", FLOATS, products.channel_norms({"num_groups": 2}, {"num_groups": 4}, of_groups=21))
    add("MeanVarianceNormalization", FLOATS, products.mean_variances)
    add("Einsum", (*FLOATS, "int32", "int64"), products.einsums)
    add("SimplifiedLayerNormalization", FLOATS, products.rms_norms)
    add("LRN", FLOATS, products.neighbours)

    add("Compress", MOVED, movement.compressed)
    add("Concat", MOVED, movement.concats)
    add("Constant", MOVED, movement.constants)
    add("ConstantOfShape", MOVED, movement.constants_of_shapes)
    add("Expand", MOVED, movement.moves(movement.expanded))
    add("EyeLike", NUMBERS, movement.eyes)
    add("Flatten", MOVED, movement.flattened)
    add("Gather", MOVED, movement.gathers)
    add("NonMaxSuppression", ("float32", "float64"), movement.suppressed)
    add("NonZero", ALL, movement.placed([{}]))
    add("OneHot", MOVED, movement.one_hots)
    add("Pad", MOVED, movement.padded)
    add("Range", ("float32", "float64", "int16", "int32", "int64"), movement.ranges({}))
    add("Reshape", MOVED, either(movement.moves(movement.reshaped), movement.moves(movement.reshaped_by_attribute), 5))
    add("Shape Size", MOVED, movement.moves(movement.as_it_is))
    add("Slice", MOVED, movement.sliced)
    add("Split", MOVED, movement.split)
    add(
        "Squeeze",
        MOVED,
        either(movement.axes_given(movement.SQUEEZED, True), movement.axes_given(movement.SQUEEZED, False), 13),
    )
    add(
        "Unsqueeze",
        MOVED,
        either(movement.axes_given(movement.UNSQUEEZED, True), movement.axes_given(movement.UNSQUEEZED, False), 13),
    )
    add("Tile", MOVED, either(movement.tiles, movement.tiles_1, 6))
    add("Transpose", MOVED, movement.turned_about)
    add("Trilu", MOVED, movement.triangles)
    add("Unique", ALL, movement.uniques([{}, {"sorted": 0}]))
    add("DepthToSpace", MOVED, movement.blocks(True))
    add("SpaceToDepth", MOVED, movement.blocks(False))
    add("ReverseSequence", MOVED, movement.reversed_sequences)
    add("Upsample", ("float32", "float64"), movement.upsampled)
    add("Resize", ("float32", "float64"), movement.resized)
    add("GridSample", FLOATS, movement.grids)

    add("SequenceConstruct", MOVED, sequences.constructed)
    add("SequenceInsert", MOVED, sequences.inserted)
    add("SequenceErase", MOVED, sequences.erased)
    add("SequenceAt", MOVED, sequences.taken)
    add("SequenceLength", MOVED, sequences.counted)
    add("SplitToSequence", MOVED, sequences.split)
    add("ConcatFromSequence", MOVED, sequences.joined)
    return rows


def _rows_of_openvino() -> dict[str, Row]:
    rows: dict[str, Row] = {}

    def add(names: str, dtypes: Sequence[str], cases: Cases, pointwise: bool = False) -> None:
        rows.update(
            dict.fromkeys(names.split(), Row(dtypes, movement.as_text(cases), pointwise, names.startswith("Convert")))
        )

    add("Abs Negative Sign", NUMBERS, one, True)
    add("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Sin Sinh Sqrt Tan Tanh", FLOATS, one, True)
    add("Ceiling Floor Identity", NUMBERS, one, True)
    add("Gelu HSigmoid HSwish Mish ReLU Sigmoid SoftPlus SoftSign IsFinite IsNaN", FLOATS, one, True)
    add("IsInf", FLOATS, each_way(one, {}, {"detect_negative": False}), True)
    add("LogicalNot", ("bool",), one, True)
    add("BitwiseNot", INTS, one, True)
    add("Elu", FLOATS, each_way(one, {"alpha": 0.3}), True)
    add("Clamp", NUMBERS, each_way(one, {"min": -1.0, "max": 5.0}), True)
    add("Round", FLOATS, each_way(one, {}, {"mode": "half_away_from_zero"}), True)
    add("Convert", ALL, casts(System.OPENVINO), True)
    add("ConvertLike", ALL, casts_like, True)
    add("Add Subtract Multiply Minimum Maximum SquaredDifference", NUMBERS, two, True)
    add("Divide", NUMBERS, each_way(divisions, {}, {"m_pythondiv": False}), True)
    add("Mod FloorMod", NUMBERS, divisions, True)
    add("Power", NUMBERS, powers, True)
    add("PReLU", FLOATS, two, True)
    add("Equal NotEqual Less LessEqual Greater GreaterEqual", NUMBERS, two, True)
    add("LogicalAnd LogicalOr LogicalXor Xor", ("bool",), two, True)
    add("BitwiseAnd BitwiseOr BitwiseXor BitwiseLeftShift BitwiseRightShift", INTS, two, True)
    add("Select", ALL, chosen, True)
    add("Swish", FLOATS, two, True)
    add("HardSigmoid Selu", FLOATS, three, True)

    reduced = products.reductions(True, "keep_dims", True, False)
    add("ReduceL1 ReduceL2 ReduceMax ReduceMin ReduceProd ReduceSum", SUMMED, reduced)
    add("ReduceMean", SUMMED, products.whole_means(reduced))
    add("ReduceLogicalAnd ReduceLogicalOr", ("bool",), reduced)
    add("Softmax LogSoftmax", FLOATS, products.along_axes())
    add("CumSum", SUMMED, products.running({}, {"exclusive": True}, {"reverse": True}))
    add("MatMul", (*FLOATS, "int32", "int64"), products.turned_products)
    add("Convolution", (*FLOATS, "int32"), movement.convolved(False, True))
    add("ConvolutionBackpropData", FLOATS, movement.convolved(True, True))
    add("MaxPool", (*FLOATS, *INTS[:-1]), movement.openvino_pooled())
    add("AvgPool", (*FLOATS, "int8"), movement.openvino_pooled(**{"exclude-pad": True}))
    add("GroupConvolution", FLOATS, movement.convolved_by_groups(False))
    add("GroupConvolutionBackpropData", FLOATS, movement.convolved_by_groups(True))
    add("Einsum", (*FLOATS, "int32", "int64"), products.einsums)
    add("TopK", NUMBERS, products.openvino_tops)
    add("GatherElements", MOVED, products.element_gathers)
    add("GatherND", MOVED, products.tuple_gathers)
    add("ScatterElementsUpdate", SUMMED, products.element_scatters(True))
    add("ScatterNDUpdate", SUMMED, products.tuple_scatters("sum", "sub", "prod", "max", "min", since=15))
    add("ScatterUpdate", MOVED, products.row_scatters)
    add("ScaledDotProductAttention", FLOATS, products.openvino_attentions)
    add("MVN", FLOATS, products.openvino_mean_variances)
    grouped = ({"num_groups": "2", "epsilon": "1e-5"}, {"num_groups": "4", "epsilon": "0.25"})
    add("GroupNormalization", FLOATS, products.channel_norms(*grouped))
    add("LSTMCell", FLOATS, products.cells(4, 2))
    add("GRUCell", FLOATS, products.cells(3, 1))
    add("RNNCell", FLOATS, products.cells(1, 1))

    add("Broadcast", MOVED, movement.broadcasts)
    add("Concat", MOVED, movement.concats)
    add("Gather", MOVED, movement.openvino_gathers)
    add("NonZero", ALL, movement.placed([{}, {"output_type": "i32"}]))
    add("OneHot", MOVED, movement.openvino_one_hots)
    add("Pad", MOVED, movement.openvino_padded)
    add(
        "Range",
        ("float32", "float64", "int32", "int64"),
        either(movement.ranges({"output_type": "f32"}, {"output_type": "i64"}), movement.ranges({}), 4),
    )
    add("Reshape", MOVED, movement.moves(movement.openvino_reshaped))
    add("ShapeOf", MOVED, movement.moves(movement.as_it_is))
    add("Slice", MOVED, movement.openvino_sliced)
    add("StridedSlice", MOVED, movement.strided)
    add("Split", MOVED, movement.openvino_split)
    add("VariadicSplit", MOVED, movement.variadic_split)
    add("Squeeze", MOVED, movement.axes_given(movement.SQUEEZED, True))
    add("Unsqueeze", MOVED, movement.axes_given(movement.UNSQUEEZED, True))
    add("Tile", MOVED, movement.tiles)
    add("Transpose", MOVED, movement.openvino_turned)
    narrow = {"sorted": False, "index_element_type": "i32", "count_element_type": "i32"}
    add("Unique", ALL, movement.uniques([{}, narrow, {"sorted": False, "count_element_type": "i32"}]))
    add("Assign", MOVED, each_way(one, {"variable_id": "h"}))
    add("ReadValue", MOVED, read)
    for name in TRIED.split():
        add(name, ("float32", "float64") if name == "Interpolate" else FLOATS, as_tried(name))
    return rows


ROWS = {System.ONNX: _rows_of_onnx(), System.OPENVINO: _rows_of_openvino()}


#: Domains whose operators are in test_microsoft.py, test_nchwc.py and test_tensorrt_operators.py.
_APART = ("com.microsoft", "com.microsoft.nchwc", "tensorrt")


def definitions() -> list[tuple[System, registry.Definition]]:
    """Every registered operator that can have kernels, in each of its versions; those of _APART apart."""
    found = registry.definitions()
    return [(system, entry) for system, domain, entry in found if entry.native and domain not in _APART]
