"""The table of layers: class, constructor arguments, inputs. Each line is compared with torch."""

import torch


def x(*shape):
    return torch.randn(*shape).requires_grad_()


def positive(*shape):
    return (torch.rand(*shape) * 0.8 + 0.1).requires_grad_()


def ids(high, *shape):
    return torch.randint(0, high, shape)


def signs(*shape):
    return torch.randint(0, 2, shape) * 2.0 - 1


def case(name, args=(), inputs=lambda: (x(3, 4),), call=None, **kwargs):
    """`inputs` makes the positional inputs, `call` the keyword inputs."""
    return name, args, kwargs, inputs, call or dict


def lines(*lengths):
    return lambda: (x(*lengths),)


ACTIVATIONS = [
    case("ReLU"),
    case("ReLU6", inputs=lambda: ((torch.randn(4, 5) * 5).requires_grad_(),)),
    case("GELU"),
    case("GELU", approximate="tanh"),
    case("SiLU"),
    case("Mish"),
    case("ELU", (0.7,)),
    case("SELU"),
    case("CELU", (1.3,)),
    case("LeakyReLU", (0.2,)),
    case("PReLU"),
    case("PReLU", (4,), lines(2, 4, 3)),
    case("Softplus", (2.0, 5.0), lambda: ((torch.randn(4, 5) * 4).requires_grad_(),)),
    case("Softsign"),
    case("Softmax", (1,)),
    case("LogSoftmax", (-1,)),
    case("Softmin", (0,)),
    case("Softmax2d", (), lines(2, 3, 4, 5)),
    case("Sigmoid"),
    case("LogSigmoid"),
    case("Tanh"),
    case("Hardtanh", (-0.5, 0.6)),
    case("Hardsigmoid", (), lambda: ((torch.randn(4, 5) * 3).requires_grad_(),)),
    case("Hardswish", (), lambda: ((torch.randn(4, 5) * 3).requires_grad_(),)),
    case("Hardshrink", (0.4,)),
    case("Softshrink", (0.4,)),
    case("Tanhshrink"),
    case("Threshold", (0.1, 20.0)),
    case("GLU", (), lines(3, 6)),
    case("GLU", (1,), lines(3, 6, 2)),
]

LINEAR = [
    case("Identity"),
    case("Linear", (4, 5)),
    case("Linear", (4, 5), lines(2, 3, 4), bias=False),
    case("Linear", (4, 5), lines(4)),
    case("Bilinear", (3, 4, 5), lambda: (x(2, 6, 3), x(2, 6, 4))),
    case("Bilinear", (3, 4, 5), lambda: (x(3), x(4)), bias=False),
    case("Flatten", (), lines(2, 3, 4)),
    case("Unflatten", (1, (2, 3)), lines(4, 6)),
    case("Embedding", (7, 3), lambda: (ids(7, 4, 5),)),
    case("Embedding", (7, 3), lambda: (torch.tensor([[1, 2], [2, 6]]),), padding_idx=2),
    case("Embedding", (7, 3), lambda: (torch.tensor([1, 3, 5]),), max_norm=0.5),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 4, 5),)),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 8), torch.tensor([0, 3, 3, 6])), mode="sum"),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 6), torch.tensor([0, 2, 6])), mode="mean"),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 4, 5),), mode="max"),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 4, 2), None, positive(4, 2)), mode="sum"),
    case("EmbeddingBag", (7, 3), lambda: (torch.tensor([[1, 2], [2, 2]]),), mode="mean", padding_idx=2),
    case("EmbeddingBag", (7, 3), lambda: (ids(7, 6), torch.tensor([0, 2, 6])), include_last_offset=True, mode="sum"),
]

CONVOLUTIONS = [
    case("Conv1d", (3, 4, 3), lines(2, 3, 9)),
    case("Conv1d", (3, 4, 3), lines(3, 9), padding="same", dilation=2),
    case("Conv2d", (3, 6, 3), lines(2, 3, 7, 8), stride=2, padding=1, groups=3),
    case("Conv2d", (3, 4, (3, 2)), lines(2, 3, 7, 8), padding=(1, 0), dilation=(2, 1), bias=False),
    case("Conv2d", (3, 4, 2), lines(2, 3, 5, 6), padding="same"),
    case("Conv2d", (3, 4, 3), lines(2, 3, 6, 6), padding=2, padding_mode="reflect"),
    case("Conv2d", (3, 4, 3), lines(2, 3, 6, 6), padding=(2, 1), padding_mode="replicate"),
    case("Conv2d", (3, 4, 3), lines(2, 3, 6, 6), padding=1, padding_mode="circular"),
    case("Conv3d", (2, 4, 2), lines(1, 2, 4, 5, 6), padding=1, stride=(1, 2, 1)),
    case("ConvTranspose1d", (4, 3, 3), lines(2, 4, 5), stride=2, output_padding=1),
    case("ConvTranspose2d", (4, 6, 3), lines(2, 4, 5, 4), stride=2, padding=1, groups=2),
    case("ConvTranspose2d", (4, 3, 3), lambda: (x(2, 4, 5, 4), [12, 9]), stride=2),
    case("ConvTranspose3d", (2, 3, 2), lines(1, 2, 3, 4, 3), dilation=2, bias=False),
    case("Fold", ((4, 5), (2, 3)), lines(2, 12, 9)),
    case("Fold", ((5, 5), 3), lines(2, 18, 9), padding=1, stride=2),
    case("Unfold", ((2, 3),), lines(2, 3, 4, 5)),
    case("Unfold", (3,), lines(2, 3, 6, 5), padding=1, stride=2, dilation=2),
    case("PixelShuffle", (2,), lines(2, 8, 3, 4)),
    case("PixelUnshuffle", (2,), lines(2, 2, 4, 6)),
    case("ChannelShuffle", (2,), lines(2, 6, 3, 4)),
    case("Upsample", (), lines(2, 3, 4, 5), scale_factor=2),
    case("Upsample", ((7, 9),), lines(2, 3, 4, 5), mode="bilinear", align_corners=False),
    case("Upsample", (9,), lines(2, 3, 5), mode="linear", align_corners=True),
    case("UpsamplingNearest2d", (), lines(2, 3, 4, 5), scale_factor=2),
    case("UpsamplingBilinear2d", ((6, 7),), lines(2, 3, 4, 5)),
]

POOLS = [
    case("MaxPool1d", (3,), lines(2, 3, 10)),
    case("MaxPool2d", (2,), lines(2, 3, 7, 8)),
    case("MaxPool2d", (3, 2, 1), lines(2, 3, 7, 8), ceil_mode=True),
    case("MaxPool2d", (2,), lines(3, 6, 6), return_indices=True),
    case("MaxPool3d", (2,), lines(1, 2, 4, 4, 6)),
    case("AvgPool1d", (3, 2), lines(2, 3, 10)),
    case("AvgPool2d", (3, 2, 1), lines(2, 3, 7, 8), count_include_pad=False),
    case("AvgPool2d", ((2, 3),), lines(2, 3, 7, 8), ceil_mode=True, divisor_override=5),
    case("AvgPool3d", (2,), lines(1, 2, 4, 4, 6)),
    case("LPPool1d", (3, 2), lambda: (positive(2, 3, 8),)),
    case("LPPool2d", (2, 3, 2), lambda: (positive(2, 3, 7, 8),)),
    case("LPPool3d", (2, 2), lambda: (positive(1, 2, 4, 4, 6),)),
    case("MaxUnpool1d", (2,), lambda: (x(1, 2, 3), torch.tensor([[[0, 3, 4], [1, 2, 5]]]))),
    case("MaxUnpool2d", (2,), lambda: (x(1, 1, 2, 2), torch.tensor([[[[0, 3], [8, 15]]]]))),
    case("MaxUnpool3d", (2,), lambda: (x(1, 1, 1, 1, 2), torch.tensor([[[[[5, 10]]]]]))),
    case("AdaptiveAvgPool1d", (4,), lines(2, 3, 10)),
    case("AdaptiveAvgPool2d", ((3, None),), lines(2, 3, 7, 8)),
    case("AdaptiveAvgPool2d", (1,), lines(2, 3, 7, 8)),
    case("AdaptiveAvgPool3d", ((2, 3, 2),), lines(1, 2, 4, 5, 6)),
    case("AdaptiveMaxPool1d", (4,), lines(2, 3, 10)),
    case("AdaptiveMaxPool2d", ((3, 5),), lines(2, 3, 7, 8), return_indices=True),
    case("AdaptiveMaxPool3d", (2,), lines(1, 2, 4, 5, 6)),
]

PADS = [
    case(f"{kind}Pad{n}d", (2, *value), lines(*(2, 3, 4, 5, 6)[: n + 2]))
    for n in (1, 2, 3)
    for kind, value in (("Zero", ()), ("Constant", (1.5,)), ("Reflection", ()), ("Replication", ()), ("Circular", ()))
] + [case("ReflectionPad2d", ((1, 2, 0, 3),), lines(2, 3, 4, 5)), case("ZeroPad2d", ((1, -1, 0, 2),), lines(3, 4, 5))]

NORMS = [
    case("BatchNorm1d", (4,), lines(5, 4)),
    case("BatchNorm1d", (4,), lines(5, 4, 3), affine=False),
    case("BatchNorm2d", (4,), lines(2, 4, 3, 5)),
    case("BatchNorm2d", (4,), lines(2, 4, 3, 5), momentum=None),
    case("BatchNorm2d", (4,), lines(2, 4, 3, 5), track_running_stats=False),
    case("BatchNorm3d", (2,), lines(2, 2, 3, 4, 5)),
    case("LayerNorm", (4,)),
    case("LayerNorm", ((3, 4),), lines(2, 3, 4), bias=False),
    case("LayerNorm", ((3, 4),), lines(2, 3, 4), elementwise_affine=False),
    case("GroupNorm", (2, 6), lines(2, 6, 4, 3)),
    case("InstanceNorm1d", (3,), lines(2, 3, 5)),
    case("InstanceNorm2d", (3,), lines(2, 3, 5, 4), affine=True),
    case("InstanceNorm2d", (3,), lines(3, 5, 4), affine=True, track_running_stats=True),
    case("InstanceNorm3d", (3,), lines(2, 3, 3, 4, 2), track_running_stats=True),
    case("RMSNorm", (4,)),
    case("RMSNorm", ((3, 4),), lines(2, 3, 4), eps=1e-3),
    case("LocalResponseNorm", (3,), lines(2, 6, 3, 4)),
    case("CosineSimilarity", (), lambda: (x(3, 5), x(3, 5))),
    case("PairwiseDistance", (), lambda: (x(3, 5), x(3, 5))),
    case("PairwiseDistance", (1.0,), lambda: (x(3, 5), x(3, 5)), keepdim=True),
]

RECURRENT = [
    case(name, (4, 3), inputs, **kwargs)
    for name, states in (("RNN", 1), ("GRU", 1), ("LSTM", 2))
    for inputs, kwargs in (
        (lines(5, 2, 4), {}),
        (lines(5, 2, 4), {"num_layers": 2, "bidirectional": True}),
        (lines(2, 5, 4), {"batch_first": True, "bias": False}),
        (lines(5, 4), {"num_layers": 2}),
        (
            (lambda: (x(5, 2, 4), (x(2, 2, 3), x(2, 2, 3)))) if states == 2 else (lambda: (x(5, 2, 4), x(2, 2, 3))),
            {"num_layers": 2},
        ),
    )
] + [
    case("RNN", (4, 3), lines(5, 2, 4), nonlinearity="relu"),
    case("RNNCell", (4, 3), lambda: (x(2, 4), x(2, 3))),
    case("RNNCell", (4, 3), lines(2, 4), nonlinearity="relu", bias=False),
    case("GRUCell", (4, 3), lambda: (x(2, 4), x(2, 3))),
    case("GRUCell", (4, 3), lines(4)),
    case("LSTMCell", (4, 3), lambda: (x(2, 4), (x(2, 3), x(2, 3)))),
    case("LSTMCell", (4, 3), lines(2, 4)),
]


def causal(n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool), 1)


def padding(*lengths, size=5):
    return torch.arange(size).unsqueeze(0) >= torch.tensor(lengths).unsqueeze(1)


def self_attention():
    q = x(5, 2, 8)
    return q, q, q


ATTENTION = [
    case("MultiheadAttention", (8, 2), lambda: (x(4, 2, 8), x(5, 2, 8), x(5, 2, 8))),
    case("MultiheadAttention", (8, 2), self_attention, lambda: {"attn_mask": causal(5), "need_weights": False}),
    case(
        "MultiheadAttention",
        (8, 4),
        lambda: (x(2, 5, 8),) * 3,
        lambda: {"key_padding_mask": padding(3, 5)},
        batch_first=True,
    ),
    case("MultiheadAttention", (8, 2), lambda: (x(4, 8), x(5, 6), x(5, 7)), kdim=6, vdim=7, bias=False),
    case(
        "MultiheadAttention",
        (8, 2),
        self_attention,
        lambda: {"attn_mask": causal(5), "average_attn_weights": False},
        add_bias_kv=True,
        add_zero_attn=True,
    ),
    case("TransformerEncoderLayer", (8, 2, 16), lines(5, 2, 8), dropout=0.0),
    case(
        "TransformerEncoderLayer",
        (8, 2, 16),
        lines(2, 5, 8),
        lambda: {"src_mask": causal(5), "src_key_padding_mask": padding(4, 5)},
        dropout=0.0,
        batch_first=True,
        norm_first=True,
        activation="gelu",
    ),
    case(
        "TransformerDecoderLayer",
        (8, 2, 16),
        lambda: (x(4, 2, 8), x(5, 2, 8)),
        lambda: {"tgt_mask": causal(4)},
        dropout=0.0,
    ),
    case(
        "TransformerDecoderLayer",
        (8, 2, 16),
        lambda: (x(4, 2, 8), x(5, 2, 8)),
        dropout=0.0,
        norm_first=True,
        bias=False,
    ),
    case("Transformer", (8, 2, 2, 2, 16, 0.0), lambda: (x(5, 2, 8), x(4, 2, 8)), lambda: {"tgt_mask": causal(4)}),
]

LOSSES = [
    case(name, args, inputs, reduction=reduction, **kwargs)
    for reduction in ("mean", "sum", "none")
    for name, args, inputs, kwargs in (
        ("L1Loss", (), lambda: (x(3, 4), x(3, 4)), {}),
        ("MSELoss", (), lambda: (x(3, 4), x(3, 4)), {}),
        ("CrossEntropyLoss", (), lambda: (x(3, 5), ids(5, 3)), {}),
        ("CrossEntropyLoss", (torch.rand(5),), lambda: (x(3, 5, 2), ids(5, 3, 2)), {"label_smoothing": 0.1}),
        ("CrossEntropyLoss", (), lambda: (x(3, 5), torch.softmax(torch.randn(3, 5), 1)), {}),
        ("CrossEntropyLoss", (), lambda: (x(3, 5), torch.tensor([1, 4, 2])), {"ignore_index": 4}),
        ("NLLLoss", (torch.rand(5),), lambda: (x(3, 5), ids(5, 3)), {}),
        ("BCELoss", (), lambda: (positive(3, 4), torch.rand(3, 4)), {}),
        ("BCEWithLogitsLoss", (), lambda: (x(3, 4), torch.rand(3, 4)), {"pos_weight": torch.rand(4)}),
        ("KLDivLoss", (), lambda: (x(3, 4), torch.rand(3, 4)), {}),
        ("KLDivLoss", (), lambda: (x(3, 4), torch.randn(3, 4)), {"log_target": True}),
        ("SmoothL1Loss", (), lambda: (x(3, 4), x(3, 4)), {"beta": 0.5}),
        ("HuberLoss", (), lambda: (x(3, 4), x(3, 4)), {"delta": 0.7}),
        ("CosineEmbeddingLoss", (0.2,), lambda: (x(3, 4), x(3, 4), signs(3)), {}),
        ("MarginRankingLoss", (0.5,), lambda: (x(4), x(4), signs(4)), {}),
        ("HingeEmbeddingLoss", (), lambda: (x(3, 4), signs(3, 4)), {}),
        ("TripletMarginLoss", (), lambda: (x(3, 4), x(3, 4), x(3, 4)), {"swap": True}),
        ("TripletMarginWithDistanceLoss", (), lambda: (x(3, 4), x(3, 4), x(3, 4)), {}),
        ("PoissonNLLLoss", (), lambda: (x(3, 4), torch.rand(3, 4) * 5), {"full": True}),
        ("PoissonNLLLoss", (False,), lambda: (positive(3, 4), torch.rand(3, 4)), {}),
        ("GaussianNLLLoss", (), lambda: (x(3, 4), torch.randn(3, 4), positive(3, 4)), {"full": True}),
        ("GaussianNLLLoss", (), lambda: (x(3, 4), torch.randn(3, 4), positive(3, 1)), {}),
        ("SoftMarginLoss", (), lambda: (x(3, 4), signs(3, 4)), {}),
        ("MultiLabelSoftMarginLoss", (), lambda: (x(3, 4), torch.randint(0, 2, (3, 4)).float()), {}),
        ("MultiLabelMarginLoss", (), lambda: (x(2, 4), torch.tensor([[3, 0, -1, 1], [-1, 1, 2, 3]])), {}),
        ("MultiMarginLoss", (), lambda: (x(3, 5), ids(5, 3)), {"p": 2, "weight": torch.rand(5)}),
    )
] + [case("CTCLoss", (), lambda: (x(6, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 3]]), torch.tensor([6, 5]), torch.tensor([2, 2])),
          reduction="sum")] + [case("KLDivLoss", (), lambda: (x(3, 4), torch.rand(3, 4)), reduction="batchmean")]

# Layers whose result is random in training mode: compared in evaluation mode, and by their statistics elsewhere.
RANDOM = [
    case("Dropout", (0.3,)),
    case("Dropout1d", (0.3,), lines(2, 3, 4)),
    case("Dropout2d", (0.3,), lines(2, 3, 4, 5)),
    case("Dropout3d", (0.3,), lines(2, 3, 4, 5, 2)),
    case("AlphaDropout", (0.3,)),
    case("FeatureAlphaDropout", (0.3,), lines(2, 3, 4)),
    case("RReLU"),
]

CASES = ACTIVATIONS + LINEAR + CONVOLUTIONS + POOLS + PADS + NORMS + RECURRENT + ATTENTION + LOSSES
