"""In which family each operator is; written by tests/support/operator_index.py."""

from __future__ import annotations

#: System, domain, family -> operators. What is missing here is looked for in all families.
INDEX: tuple[tuple[str, str, str, str], ...] = (
    (
        "onnx",
        "",
        "activations",
        "Celu Dropout Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu Sigmoid Softplus Softsign Swish "
        "ThresholdedRelu",
    ),
    (
        "onnx",
        "",
        "attention",
        "Attention RotaryEmbedding",
    ),
    (
        "onnx",
        "",
        "cast",
        "Cast CastLike",
    ),
    (
        "onnx",
        "",
        "convolution",
        "Conv ConvInteger ConvTranspose QLinearConv",
    ),
    (
        "onnx",
        "",
        "deformable_convolution",
        "DeformConv",
    ),
    (
        "onnx",
        "",
        "einsum",
        "Einsum",
    ),
    (
        "onnx",
        "",
        "elementwise",
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Cos "
        "Cosh Div Equal Erf Exp Floor Greater GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual Log Max Mean Min "
        "Mod Mul Neg Not Or Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh Xor",
    ),
    (
        "onnx",
        "",
        "gather_scatter",
        "Gather GatherElements GatherND OneHot Scatter ScatterElements ScatterND TensorScatter",
    ),
    (
        "onnx",
        "",
        "grid_sample",
        "GridSample",
    ),
    (
        "onnx",
        "",
        "integer_matmul",
        "MatMulInteger QLinearMatMul",
    ),
    (
        "onnx",
        "",
        "matmul",
        "Gemm MatMul",
    ),
    (
        "onnx",
        "",
        "microsoft_normalize",
        "SimplifiedLayerNormalization",
    ),
    (
        "onnx",
        "",
        "non_max_suppression",
        "NonMaxSuppression",
    ),
    (
        "onnx",
        "",
        "normalize",
        "BatchNormalization GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax "
        "LpNormalization MeanVarianceNormalization RMSNormalization Softmax",
    ),
    (
        "onnx",
        "",
        "pool",
        "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool",
    ),
    (
        "onnx",
        "",
        "quantize",
        "DequantizeLinear DynamicQuantizeLinear QuantizeLinear",
    ),
    (
        "onnx",
        "",
        "random_operators",
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    ),
    (
        "onnx",
        "",
        "rearrange",
        "Col2Im DepthToSpace ReverseSequence SpaceToDepth",
    ),
    (
        "onnx",
        "",
        "reduce",
        "ArgMax ArgMin CumProd CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
        "ReduceProd ReduceSum ReduceSumSquare TopK",
    ),
    (
        "onnx",
        "",
        "resize",
        "Resize Upsample",
    ),
    (
        "onnx",
        "",
        "roi_pooling",
        "RoiAlign",
    ),
    (
        "onnx",
        "",
        "sequence_operators",
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
        "SequenceErase SequenceInsert SequenceLength SplitToSequence",
    ),
    (
        "onnx",
        "",
        "shape",
        "Constant ConstantOfShape Expand EyeLike Flatten NonZero Range Reshape Shape Size Squeeze Tile Transpose "
        "Unsqueeze",
    ),
    (
        "onnx",
        "",
        "slice_concat_pad",
        "Compress Concat Pad Slice Split Trilu",
    ),
    (
        "onnx",
        "",
        "table_lookup",
        "Unique",
    ),
    (
        "onnx",
        "",
        "where_clip",
        "Clip Where",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_attention",
        "Attention GroupQueryAttention MultiHeadAttention QAttention RotaryEmbedding",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_decoder_blocks",
        "BranchwiseRMSNorm CausalConvWithState DecoderMaskedMultiHeadAttention GatedAdd GatedRMSNorm "
        "LinearAttentionGate MRotaryEmbedding ScaledSiLU",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_elementwise",
        "BiasAdd BiasGelu BiasSoftmax FastGelu Gelu QuickGelu Trilu",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_fused_matmul",
        "FusedConv FusedGemm FusedMatMul NhwcMaxPool TransposeMatMul",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_legacy",
        "CDist ConvTransposeWithDynamicPads DynamicTimeWarping ExpandDims GatherND GridSample Inverse MatMulInteger16 "
        "NGramRepeatBlock Pad Range UnfoldTensor Unique",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_moe",
        "MoE QMoE",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_normalize",
        "EmbedLayerNormalization QEmbedLayerNormalization SimplifiedLayerNormalization SkipLayerNormalization "
        "SkipSimplifiedLayerNormalization",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_quantized",
        "DequantizeLinear DynamicQuantizeMatMul GatherBlockQuantized MatMulBnb4 MatMulIntegerToFloat MatMulNBits "
        "QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu "
        "QLinearMul QLinearReduceMean QLinearSigmoid QLinearSoftmax QLinearWhere QuantizeLinear",
    ),
    (
        "onnx",
        "com.microsoft.nchwc",
        "nchwc",
        "AveragePool Conv GlobalAveragePool GlobalMaxPool MaxPool ReorderInput ReorderOutput Upsample",
    ),
    (
        "onnx",
        "tensorrt",
        "tensorrt",
        "Assertion Attention Gather GatherElements GatherND KVCacheUpdate Linspace NMS PoolReach RaggedSoftmax "
        "RotaryEmbedding Slice",
    ),
    (
        "openvino",
        "",
        "activations",
        "Elu Gelu HSigmoid HSwish HardSigmoid Mish PReLU ReLU Selu Sigmoid SoftPlus SoftSign Swish",
    ),
    (
        "openvino",
        "",
        "adaptive_pool",
        "AdaptiveAvgPool AdaptiveMaxPool BinaryConvolution",
    ),
    (
        "openvino",
        "",
        "attention",
        "ScaledDotProductAttention",
    ),
    (
        "openvino",
        "",
        "cast",
        "Convert ConvertLike",
    ),
    (
        "openvino",
        "",
        "color_conversion",
        "BGRtoNV12 I420toBGR I420toRGB NV12toBGR NV12toRGB RGBtoNV12",
    ),
    (
        "openvino",
        "",
        "convolution",
        "Convolution ConvolutionBackpropData GroupConvolution GroupConvolutionBackpropData",
    ),
    (
        "openvino",
        "",
        "ctc",
        "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss",
    ),
    (
        "openvino",
        "",
        "deformable_convolution",
        "DeformableConvolution",
    ),
    (
        "openvino",
        "",
        "detection_output",
        "DetectionOutput RegionYolo",
    ),
    (
        "openvino",
        "",
        "einsum",
        "Einsum",
    ),
    (
        "openvino",
        "",
        "elementwise",
        "Abs Acos Acosh Add Asin Asinh Atan Atanh BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift "
        "BitwiseXor Ceiling Cos Cosh Divide Equal Erf Exp Floor FloorMod Greater GreaterEqual Identity IsFinite IsInf "
        "IsNaN Less LessEqual Log LogicalAnd LogicalNot LogicalOr LogicalXor Maximum Minimum Mod Multiply Negative "
        "NotEqual Power Round Sign Sin Sinh Sqrt SquaredDifference Subtract Tan Tanh Xor",
    ),
    (
        "openvino",
        "",
        "fake_quantize",
        "FakeConvert FakeQuantize",
    ),
    (
        "openvino",
        "",
        "fourier",
        "DFT IDFT IRDFT ISTFT RDFT STFT",
    ),
    (
        "openvino",
        "",
        "gather_scatter",
        "Gather GatherElements GatherND OneHot ScatterElementsUpdate ScatterNDUpdate ScatterUpdate",
    ),
    (
        "openvino",
        "",
        "grid_sample",
        "GridSample",
    ),
    (
        "openvino",
        "",
        "matmul",
        "MatMul",
    ),
    (
        "openvino",
        "",
        "non_max_suppression",
        "MatrixNms MulticlassNms NMSRotated NonMaxSuppression",
    ),
    (
        "openvino",
        "",
        "normalize",
        "BatchNormInference GRN GroupNormalization LRN LogSoftmax MVN NormalizeL2 Softmax",
    ),
    (
        "openvino",
        "",
        "openvino_misc",
        "Assign ConvertPromoteTypes ErfInv GroupedMatMul Inverse ReadValue StringTensorPack StringTensorUnpack",
    ),
    (
        "openvino",
        "",
        "openvino_recurrent_cells",
        "GRUCell LSTMCell RNNCell",
    ),
    (
        "openvino",
        "",
        "pool",
        "AvgPool MaxPool",
    ),
    (
        "openvino",
        "",
        "prior_boxes",
        "PriorBox PriorBoxClustered",
    ),
    (
        "openvino",
        "",
        "proposals",
        "ExperimentalDetectronDetectionOutput ExperimentalDetectronGenerateProposalsSingleImage "
        "ExperimentalDetectronPriorGridGenerator ExperimentalDetectronROIFeatureExtractor "
        "ExperimentalDetectronTopKROIs GenerateProposals Proposal",
    ),
    (
        "openvino",
        "",
        "random_operators",
        "Multinomial RandomUniform",
    ),
    (
        "openvino",
        "",
        "rearrange",
        "BatchToSpace Col2Im DepthToSpace ExtractImagePatches GatherTree ReorgYolo Reverse ReverseSequence Roll "
        "ShuffleChannels SpaceToBatch SpaceToDepth",
    ),
    (
        "openvino",
        "",
        "reduce",
        "CumSum ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd "
        "ReduceSum TopK",
    ),
    (
        "openvino",
        "",
        "resize",
        "Interpolate",
    ),
    (
        "openvino",
        "",
        "roi_pooling",
        "DeformablePSROIPooling PSROIPooling ROIAlign ROIAlignRotated ROIPooling",
    ),
    (
        "openvino",
        "",
        "shape",
        "Broadcast NonZero Range Reshape ShapeOf Squeeze Tile Transpose Unsqueeze",
    ),
    (
        "openvino",
        "",
        "slice_concat_pad",
        "Concat Pad Slice SliceScatter Split StridedSlice VariadicSplit",
    ),
    (
        "openvino",
        "",
        "table_lookup",
        "Bucketize EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum "
        "EmbeddingSegmentsSum Eye SearchSorted SegmentMax SparseFillEmptyRows Unique",
    ),
    (
        "openvino",
        "",
        "where_clip",
        "Clamp Select",
    ),
)
