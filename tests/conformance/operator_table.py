"""A row of inputs for every operator that can have kernels; a missing row is an error."""

from __future__ import annotations

from collections.abc import Sequence

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from . import movement_cases as movement
from . import product_cases as products
from . import sequence_cases as sequences
from .openvino_suite_cases import SUITE_OPERATORS, read_value_cases, suite_cases
from .operator_cases import (
    ALL_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    MOVABLE_TYPES,
    NUMERIC_TYPES,
    SUMMABLE_TYPES,
    CaseGenerator,
    OperatorRow,
)
from .pointwise_cases import (
    attribute_variants,
    binary_cases,
    by_version,
    casts,
    casts_like,
    dequantize_cases,
    divisions,
    dynamic_quantize_cases,
    powers,
    quantize_cases,
    ternary_cases,
    unary_cases,
    where_cases,
)


def _rows_of_onnx() -> dict[str, OperatorRow]:
    rows: dict[str, OperatorRow] = {}

    def add(names: str, dtypes: Sequence[str], cases: CaseGenerator, pointwise: bool = False) -> None:
        rows.update(dict.fromkeys(names.split(), OperatorRow(dtypes, cases, pointwise, names.startswith("Cast"))))

    add(
        "Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish IsNaN Log Mish",
        FLOAT_TYPES,
        unary_cases,
        True,
    )
    add("Reciprocal Relu Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh", FLOAT_TYPES, unary_cases, True)
    add("Abs Neg Sign", NUMERIC_TYPES, unary_cases, True)
    add("Not", ("bool",), unary_cases, True)
    add("BitwiseNot", INTEGER_TYPES, unary_cases, True)
    add("Identity", ALL_TYPES, unary_cases, True)
    add("Celu Elu LeakyRelu ThresholdedRelu", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"alpha": 0.3}), True)
    add("Swish", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"alpha": 0.3}), True)
    add("HardSigmoid", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"alpha": 0.3, "beta": 0.1}), True)
    add("Selu", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"alpha": 0.3, "gamma": 2.0}), True)
    add("Gelu", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"approximate": "tanh"}), True)
    add("IsInf", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"detect_negative": 0}, {"detect_positive": 0}), True)
    add("Cast", ALL_TYPES, casts(System.ONNX), True)
    add("CastLike", ALL_TYPES, casts_like, True)
    add(
        "Clip",
        NUMERIC_TYPES,
        by_version(
            ternary_cases, attribute_variants(unary_cases, {"min": -1.0, "max": 5.0}, {"max": 0.0}, {"min": 0.0}), 11
        ),
        True,
    )
    add("Add Sub Mul Max Min Sum Mean", NUMERIC_TYPES, binary_cases, True)
    add("Div", NUMERIC_TYPES, divisions, True)
    add("Mod", NUMERIC_TYPES, attribute_variants(divisions, {"fmod": 1}), True)
    add("Pow", NUMERIC_TYPES, powers, True)
    add("PRelu", NUMERIC_TYPES, binary_cases, True)
    add("Equal", ALL_TYPES, binary_cases, True)
    add("Less LessOrEqual Greater GreaterOrEqual", NUMERIC_TYPES, binary_cases, True)
    add("And Or Xor", ("bool",), binary_cases, True)
    add("BitwiseAnd BitwiseOr BitwiseXor", INTEGER_TYPES, binary_cases, True)
    add(
        "BitShift",
        INTEGER_TYPES[4:],
        attribute_variants(binary_cases, {"direction": "LEFT"}, {"direction": "RIGHT"}),
        True,
    )
    add("Where", ALL_TYPES, where_cases, True)
    add("Dropout", FLOAT_TYPES, movement.dropout_cases)
    add("DequantizeLinear", ("int8", "uint8", "int16", "uint16", "int32"), dequantize_cases)
    add("QuantizeLinear", ("float32", "float16"), quantize_cases)
    add("DynamicQuantizeLinear", ("float32",), dynamic_quantize_cases)

    reduced = by_version(products.reductions(True, "keepdims", 1, 0), products.reductions(False, "keepdims", 1, 0), 18)
    add("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd", SUMMABLE_TYPES, reduced)
    add("ReduceSumSquare", SUMMABLE_TYPES, reduced)
    add("ReduceMean", SUMMABLE_TYPES, products.without_integer_means(reduced))
    add(
        "ReduceSum",
        SUMMABLE_TYPES,
        by_version(products.reductions(True, "keepdims", 1, 0), products.reductions(False, "keepdims", 1, 0), 13),
    )
    add(
        "ArgMax ArgMin",
        SUMMABLE_TYPES,
        by_version(
            attribute_variants(products.axis_attribute_cases(), {}, {"select_last_index": 1}),
            products.axis_attribute_cases(),
            12,
        ),
    )
    add("Softmax LogSoftmax Hardmax", FLOAT_TYPES, products.axis_attribute_cases())
    add("LpNormalization", FLOAT_TYPES, attribute_variants(products.axis_attribute_cases(), {"p": 1}, {"p": 2}))
    add("CumSum CumProd", SUMMABLE_TYPES, products.cumulative_cases({}, {"exclusive": 1}, {"reverse": 1}))
    add("MatMul", (*FLOAT_TYPES, "int32", "int64", "uint8"), products.products)
    add("MatMulInteger", ("int8", "uint8"), products.integer_products)
    add("QLinearMatMul", ("int8", "uint8"), products.qlinear_products)
    add("Gemm", (*FLOAT_TYPES, "int32", "int64"), products.gemms)
    add("Conv", FLOAT_TYPES, movement.convolution_cases(False, False))
    add("ConvTranspose", FLOAT_TYPES, movement.convolution_cases(True, False))
    add("MaxPool", (*FLOAT_TYPES, "int8", "uint8"), movement.pooling_cases({}, both=True))
    add(
        "AveragePool",
        FLOAT_TYPES,
        by_version(movement.pooling_cases({}, {"count_include_pad": 1}), movement.pooling_cases({}), 7),
    )
    add("LpPool", FLOAT_TYPES, movement.pooling_cases({}, {"p": 1}, {"p": 3}))
    add("GlobalMaxPool GlobalAveragePool GlobalLpPool", FLOAT_TYPES, movement.global_pooling_cases)
    add("ConvInteger", ("int8", "uint8"), movement.integer_convolutions)
    add("QLinearConv", ("int8", "uint8"), movement.qlinear_convolutions)
    add("BatchNormalization", FLOAT_TYPES, products.batch_norms)
    add("LayerNormalization", FLOAT_TYPES, products.layer_norms)
    add("TopK", NUMERIC_TYPES, products.top_k_cases)
    add("GatherElements", MOVABLE_TYPES, products.element_gathers)
    add("GatherND", MOVABLE_TYPES, products.tuple_gathers)
    add("Scatter ScatterElements", SUMMABLE_TYPES, products.element_scatters(False))
    add("ScatterND", SUMMABLE_TYPES, products.tuple_scatters("add", "mul", "max", "min", since=16))
    add("TensorScatter", MOVABLE_TYPES, products.cache_scatters)
    add("Attention", FLOAT_TYPES, products.attentions)
    add("RotaryEmbedding", FLOAT_TYPES, products.rotary_embedding_cases)
    add("RMSNormalization", FLOAT_TYPES, products.scaled_norm_cases())
    add("InstanceNormalization", FLOAT_TYPES, products.channel_norms({}, {"epsilon": 0.25}))
    add("GroupNormalization", FLOAT_TYPES, products.channel_norms({"num_groups": 2}, {"num_groups": 4}, of_groups=21))
    add("MeanVarianceNormalization", FLOAT_TYPES, products.mean_variances)
    add("Einsum", (*FLOAT_TYPES, "int32", "int64"), products.einsums)
    add("SimplifiedLayerNormalization", FLOAT_TYPES, products.rms_norms)
    add("LRN", FLOAT_TYPES, products.lrn_cases)

    add("Compress", MOVABLE_TYPES, movement.compress_cases)
    add("Concat", MOVABLE_TYPES, movement.concats)
    add("Constant", MOVABLE_TYPES, movement.constants)
    add("ConstantOfShape", MOVABLE_TYPES, movement.constants_of_shapes)
    add("Expand", MOVABLE_TYPES, movement.cases_of_each_shape(movement.expand_cases))
    add("EyeLike", NUMERIC_TYPES, movement.eyes)
    add("Flatten", MOVABLE_TYPES, movement.flatten_cases)
    add("Gather", MOVABLE_TYPES, movement.gathers)
    add("NonMaxSuppression", ("float32", "float64"), movement.nms_cases)
    add("NonZero", ALL_TYPES, movement.nonzero_cases([{}]))
    add("OneHot", MOVABLE_TYPES, movement.one_hots)
    add("Pad", MOVABLE_TYPES, movement.pad_cases)
    add("Range", ("float32", "float64", "int16", "int32", "int64"), movement.ranges({}))
    add(
        "Reshape",
        MOVABLE_TYPES,
        by_version(
            movement.cases_of_each_shape(movement.reshape_cases),
            movement.cases_of_each_shape(movement.reshape_attribute_cases),
            5,
        ),
    )
    add("Shape Size", MOVABLE_TYPES, movement.cases_of_each_shape(movement.without_attributes))
    add("Slice", MOVABLE_TYPES, movement.slice_cases)
    add("Split", MOVABLE_TYPES, movement.split_cases)
    add(
        "Squeeze",
        MOVABLE_TYPES,
        by_version(
            movement.axes_cases(movement.SQUEEZE_CASES, True), movement.axes_cases(movement.SQUEEZE_CASES, False), 13
        ),
    )
    add(
        "Unsqueeze",
        MOVABLE_TYPES,
        by_version(
            movement.axes_cases(movement.UNSQUEEZE_CASES, True),
            movement.axes_cases(movement.UNSQUEEZE_CASES, False),
            13,
        ),
    )
    add("Tile", MOVABLE_TYPES, by_version(movement.tiles, movement.tiles_1, 6))
    add("Transpose", MOVABLE_TYPES, movement.transpose_cases)
    add("Trilu", MOVABLE_TYPES, movement.triangles)
    add("Unique", ALL_TYPES, movement.uniques([{}, {"sorted": 0}]))
    add("DepthToSpace", MOVABLE_TYPES, movement.depth_space_cases(True))
    add("SpaceToDepth", MOVABLE_TYPES, movement.depth_space_cases(False))
    add("ReverseSequence", MOVABLE_TYPES, movement.reversed_sequences)
    add("Upsample", ("float32", "float64"), movement.upsample_cases)
    add("Resize", ("float32", "float64"), movement.resize_cases)
    add("GridSample", FLOAT_TYPES, movement.grid_sample_cases)

    add("SequenceConstruct", MOVABLE_TYPES, sequences.sequence_construct_cases)
    add("SequenceInsert", MOVABLE_TYPES, sequences.sequence_insert_cases)
    add("SequenceErase", MOVABLE_TYPES, sequences.sequence_erase_cases)
    add("SequenceAt", MOVABLE_TYPES, sequences.sequence_at_cases)
    add("SequenceLength", MOVABLE_TYPES, sequences.sequence_length_cases)
    add("SplitToSequence", MOVABLE_TYPES, sequences.split_to_sequence_cases)
    add("ConcatFromSequence", MOVABLE_TYPES, sequences.concat_from_sequence_cases)
    return rows


def _rows_of_openvino() -> dict[str, OperatorRow]:
    rows: dict[str, OperatorRow] = {}

    def add(names: str, dtypes: Sequence[str], cases: CaseGenerator, pointwise: bool = False) -> None:
        rows.update(
            dict.fromkeys(
                names.split(),
                OperatorRow(dtypes, movement.attributes_as_text(cases), pointwise, names.startswith("Convert")),
            )
        )

    add("Abs Negative Sign", NUMERIC_TYPES, unary_cases, True)
    add("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Sin Sinh Sqrt Tan Tanh", FLOAT_TYPES, unary_cases, True)
    add("Ceiling Floor Identity", NUMERIC_TYPES, unary_cases, True)
    add("Gelu HSigmoid HSwish Mish ReLU Sigmoid SoftPlus SoftSign IsFinite IsNaN", FLOAT_TYPES, unary_cases, True)
    add("IsInf", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"detect_negative": False}), True)
    add("LogicalNot", ("bool",), unary_cases, True)
    add("BitwiseNot", INTEGER_TYPES, unary_cases, True)
    add("Elu", FLOAT_TYPES, attribute_variants(unary_cases, {"alpha": 0.3}), True)
    add("Clamp", NUMERIC_TYPES, attribute_variants(unary_cases, {"min": -1.0, "max": 5.0}), True)
    add("Round", FLOAT_TYPES, attribute_variants(unary_cases, {}, {"mode": "half_away_from_zero"}), True)
    add("Convert", ALL_TYPES, casts(System.OPENVINO), True)
    add("ConvertLike", ALL_TYPES, casts_like, True)
    add("Add Subtract Multiply Minimum Maximum SquaredDifference", NUMERIC_TYPES, binary_cases, True)
    add("Divide", NUMERIC_TYPES, attribute_variants(divisions, {}, {"m_pythondiv": False}), True)
    add("Mod FloorMod", NUMERIC_TYPES, divisions, True)
    add("Power", NUMERIC_TYPES, powers, True)
    add("PReLU", FLOAT_TYPES, binary_cases, True)
    add("Equal NotEqual Less LessEqual Greater GreaterEqual", NUMERIC_TYPES, binary_cases, True)
    add("LogicalAnd LogicalOr LogicalXor Xor", ("bool",), binary_cases, True)
    add("BitwiseAnd BitwiseOr BitwiseXor BitwiseLeftShift BitwiseRightShift", INTEGER_TYPES, binary_cases, True)
    add("Select", ALL_TYPES, where_cases, True)
    add("Swish", FLOAT_TYPES, binary_cases, True)
    add("HardSigmoid Selu", FLOAT_TYPES, ternary_cases, True)

    reduced = products.reductions(True, "keep_dims", True, False)
    add("ReduceL1 ReduceL2 ReduceMax ReduceMin ReduceProd ReduceSum", SUMMABLE_TYPES, reduced)
    add("ReduceMean", SUMMABLE_TYPES, products.without_integer_means(reduced))
    add("ReduceLogicalAnd ReduceLogicalOr", ("bool",), reduced)
    add("Softmax LogSoftmax", FLOAT_TYPES, products.axis_attribute_cases())
    add("CumSum", SUMMABLE_TYPES, products.cumulative_cases({}, {"exclusive": True}, {"reverse": True}))
    add("MatMul", (*FLOAT_TYPES, "int32", "int64"), products.transposed_products)
    add("Convolution", (*FLOAT_TYPES, "int32"), movement.convolution_cases(False, True))
    add("ConvolutionBackpropData", FLOAT_TYPES, movement.convolution_cases(True, True))
    add("MaxPool", (*FLOAT_TYPES, *INTEGER_TYPES[:-1]), movement.openvino_pooling_cases())
    add("AvgPool", (*FLOAT_TYPES, "int8"), movement.openvino_pooling_cases(**{"exclude-pad": True}))
    add("GroupConvolution", FLOAT_TYPES, movement.group_convolution_cases(False))
    add("GroupConvolutionBackpropData", FLOAT_TYPES, movement.group_convolution_cases(True))
    add("Einsum", (*FLOAT_TYPES, "int32", "int64"), products.einsums)
    add("TopK", NUMERIC_TYPES, products.openvino_top_k_cases)
    add("GatherElements", MOVABLE_TYPES, products.element_gathers)
    add("GatherND", MOVABLE_TYPES, products.tuple_gathers)
    add("ScatterElementsUpdate", SUMMABLE_TYPES, products.element_scatters(True))
    add("ScatterNDUpdate", SUMMABLE_TYPES, products.tuple_scatters("sum", "sub", "prod", "max", "min", since=15))
    add("ScatterUpdate", MOVABLE_TYPES, products.row_scatters)
    add("ScaledDotProductAttention", FLOAT_TYPES, products.openvino_attentions)
    add("MVN", FLOAT_TYPES, products.openvino_mean_variances)
    grouped = ({"num_groups": "2", "epsilon": "1e-5"}, {"num_groups": "4", "epsilon": "0.25"})
    add("GroupNormalization", FLOAT_TYPES, products.channel_norms(*grouped))
    add("LSTMCell", FLOAT_TYPES, products.cells(4, 2))
    add("GRUCell", FLOAT_TYPES, products.cells(3, 1))
    add("RNNCell", FLOAT_TYPES, products.cells(1, 1))

    add("Broadcast", MOVABLE_TYPES, movement.broadcasts)
    add("Concat", MOVABLE_TYPES, movement.concats)
    add("Gather", MOVABLE_TYPES, movement.openvino_gathers)
    add("NonZero", ALL_TYPES, movement.nonzero_cases([{}, {"output_type": "i32"}]))
    add("OneHot", MOVABLE_TYPES, movement.openvino_one_hots)
    add("Pad", MOVABLE_TYPES, movement.openvino_pad_cases)
    add(
        "Range",
        ("float32", "float64", "int32", "int64"),
        by_version(movement.ranges({"output_type": "f32"}, {"output_type": "i64"}), movement.ranges({}), 4),
    )
    add("Reshape", MOVABLE_TYPES, movement.cases_of_each_shape(movement.openvino_reshape_cases))
    add("ShapeOf", MOVABLE_TYPES, movement.cases_of_each_shape(movement.without_attributes))
    add("Slice", MOVABLE_TYPES, movement.openvino_slice_cases)
    add("StridedSlice", MOVABLE_TYPES, movement.strided_slice_cases)
    add("Split", MOVABLE_TYPES, movement.openvino_split_cases)
    add("VariadicSplit", MOVABLE_TYPES, movement.variadic_split_cases)
    add("Squeeze", MOVABLE_TYPES, movement.axes_cases(movement.SQUEEZE_CASES, True))
    add("Unsqueeze", MOVABLE_TYPES, movement.axes_cases(movement.UNSQUEEZE_CASES, True))
    add("Tile", MOVABLE_TYPES, movement.tiles)
    add("Transpose", MOVABLE_TYPES, movement.openvino_transpose_cases)
    narrow = {"sorted": False, "index_element_type": "i32", "count_element_type": "i32"}
    add("Unique", ALL_TYPES, movement.uniques([{}, narrow, {"sorted": False, "count_element_type": "i32"}]))
    add("Assign", MOVABLE_TYPES, attribute_variants(unary_cases, {"variable_id": "h"}))
    add("ReadValue", MOVABLE_TYPES, read_value_cases)
    for name in SUITE_OPERATORS.split():
        add(name, ("float32", "float64") if name == "Interpolate" else FLOAT_TYPES, suite_cases(name))
    return rows


ROWS = {System.ONNX: _rows_of_onnx(), System.OPENVINO: _rows_of_openvino()}


#: Domains whose operators are in test_microsoft.py, test_nchwc.py and test_tensorrt_operators.py.
_EXCLUDED_DOMAINS = ("com.microsoft", "com.microsoft.nchwc", "tensorrt")


def definitions() -> list[tuple[System, registry.OperatorDefinition]]:
    """Every registered operator that can have kernels, in each of its versions; without those of excluded domains."""
    result = registry.definitions()
    return [(system, entry) for system, domain, entry in result if entry.native and domain not in _EXCLUDED_DOMAINS]
