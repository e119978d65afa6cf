"""In which family each operator is; written by tests/operator_index.py."""

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
        "blocks",
        "Col2Im DepthToSpace ReverseSequence SpaceToDepth",
    ),
    (
        "onnx",
        "",
        "boxes",
        "NonMaxSuppression",
    ),
    (
        "onnx",
        "",
        "choice",
        "Clip Where",
    ),
    (
        "onnx",
        "",
        "conversion",
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
        "deformable",
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
        "indexing",
        "Gather GatherElements GatherND OneHot Scatter ScatterElements ScatterND TensorScatter",
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
        "lookup",
        "Unique",
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
        "move",
        "Compress Concat Pad Slice Split Trilu",
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
        "random_numbers",
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
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
        "regions",
        "RoiAlign",
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
        "sampling",
        "GridSample",
    ),
    (
        "onnx",
        "",
        "sequence",
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
        "com.microsoft",
        "microsoft_attention",
        "Attention GroupQueryAttention MultiHeadAttention QAttention RotaryEmbedding",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_decoders",
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
        "microsoft_experts",
        "MoE QMoE",
    ),
    (
        "onnx",
        "com.microsoft",
        "microsoft_movement",
        "CDist ConvTransposeWithDynamicPads DynamicTimeWarping ExpandDims GatherND GridSample Inverse MatMulInteger16 "
        "NGramRepeatBlock Pad Range UnfoldTensor Unique",
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
        "microsoft_products",
        "FusedConv FusedGemm FusedMatMul NhwcMaxPool TransposeMatMul",
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
        "adaptive",
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
        "blocks",
        "BatchToSpace Col2Im DepthToSpace ExtractImagePatches GatherTree ReorgYolo Reverse ReverseSequence Roll "
        "ShuffleChannels SpaceToBatch SpaceToDepth",
    ),
    (
        "openvino",
        "",
        "boxes",
        "MatrixNms MulticlassNms NMSRotated NonMaxSuppression",
    ),
    (
        "openvino",
        "",
        "choice",
        "Clamp Select",
    ),
    (
        "openvino",
        "",
        "color",
        "BGRtoNV12 I420toBGR I420toRGB NV12toBGR NV12toRGB RGBtoNV12",
    ),
    (
        "openvino",
        "",
        "conversion",
        "Convert ConvertLike",
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
        "deformable",
        "DeformableConvolution",
    ),
    (
        "openvino",
        "",
        "detection",
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
        "indexing",
        "Gather GatherElements GatherND OneHot ScatterElementsUpdate ScatterNDUpdate ScatterUpdate",
    ),
    (
        "openvino",
        "",
        "lookup",
        "Bucketize EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum "
        "EmbeddingSegmentsSum Eye SearchSorted SegmentMax SparseFillEmptyRows Unique",
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
        "move",
        "Concat Pad Slice SliceScatter Split StridedSlice VariadicSplit",
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
        "openvino_rest",
        "Assign ConvertPromoteTypes ErfInv GroupedMatMul Inverse ReadValue StringTensorPack StringTensorUnpack",
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
        "random_numbers",
        "Multinomial RandomUniform",
    ),
    (
        "openvino",
        "",
        "recurrent_openvino",
        "GRUCell LSTMCell RNNCell",
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
        "regions",
        "DeformablePSROIPooling PSROIPooling ROIAlign ROIAlignRotated ROIPooling",
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
        "sampling",
        "GridSample",
    ),
    (
        "openvino",
        "",
        "shape",
        "Broadcast NonZero Range Reshape ShapeOf Squeeze Tile Transpose Unsqueeze",
    ),
)
