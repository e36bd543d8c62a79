"""What is measured: every workload's name, kind and effort, and the sizes of its data.

Two sets of sizes: FULL is what goals are about; TINY runs the same code in a moment, for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Effort:
    """How one workload is measured: seconds and most steps of a burst, steps before the first one."""

    kind: str
    seconds: float
    warm: int
    most: int = 10**9


WORKLOADS = {
    "null_step": Effort("path", 0.2, 20),
    "null_feed": Effort("path", 0.2, 20),
    "monitored": Effort("path", 0.2, 20),
    "wide_1000": Effort("path", 0.2, 5),
    "chain_1000": Effort("path", 0.2, 5),
    "softmax_mnist": Effort("dense", 0.3, 8),
    "mlp": Effort("dense", 0.4, 8),
    "towers": Effort("dense", 0.3, 8),
    "transformer": Effort("dense", 0.6, 5),
    "alexnet": Effort("images", 0.5, 3, 2),
    "overfeat": Effort("images", 0.5, 2, 1),
    "vgg_a": Effort("images", 0.5, 2, 1),
    "googlenet": Effort("images", 0.5, 3, 2),
    "googlenet_infer1": Effort("images", 0.5, 3),
    "resnet50": Effort("images", 0.5, 3, 2),
    "resnet50_infer1": Effort("images", 0.5, 3),
    "resnet50_infer32": Effort("images", 0.5, 2, 1),
    "lstm_small": Effort("sequences", 0.5, 5),
    "lstm_small_dyn": Effort("sequences", 0.5, 5),
    "lstm_medium": Effort("sequences", 0.5, 4, 3),
    "lstm_medium_dyn": Effort("sequences", 0.5, 4, 3),
    "word2vec": Effort("sparse", 0.3, 8),
    "embedding_sparse": Effort("sparse", 0.3, 8),
    "vocabulary": Effort("sparse", 0.3, 3),
    "elementwise": Effort("kernels", 0.3, 3),
    "softmax_4096": Effort("kernels", 0.3, 3),
    "layernorm_4096": Effort("kernels", 0.3, 3),
    "reduce_rows": Effort("kernels", 0.3, 3),
    "reduce_cols": Effort("kernels", 0.3, 3),
    "matmul_1024": Effort("kernels", 0.3, 3),
    "while_loop": Effort("control", 0.4, 2),
    "seq2seq_random_lengths": Effort("changing", 0.6, 8),
    "bert_base_random_lengths": Effort("changing", 1.0, 3, 4),
    "bert_base_infer_random_lengths": Effort("changing", 1.0, 3, 6),
    "resnet101_random_batches": Effort("changing", 1.0, 3, 4),
    "masked_loss": Effort("changing", 0.4, 8),
    "sampled_softmax": Effort("changing", 0.4, 20),
    "ctc": Effort("changing", 0.4, 8),
    "gather_in_loop": Effort("control", 0.3, 4),
    "gpt2_sampler": Effort("control", 0.6, 3),
    "jpeg_decode": Effort("images", 0.3, 3),
    "inception_v3": Effort("images", 1.0, 2, 3),
    "lstm_512_512_full": Effort("sequences", 1.0, 2, 4),
    "lstm_512_512_sampled": Effort("sequences", 0.8, 4, 8),
    "wide_and_deep": Effort("sparse", 0.4, 6),
    "dcgan": Effort("images", 0.8, 3, 6),
    "unet": Effort("images", 0.8, 3, 6),
}

# Peers have one form of a recurrent network: its times stand beside both of ours.
SAME_WORK = {"lstm_small_dyn": "lstm_small", "lstm_medium_dyn": "lstm_medium"}


@dataclass(frozen=True)
class Images:
    side: int
    batch: int
    narrower: int = 1  # channels are divided by this

    def channels(self, count: int) -> int:
        return max(4, count // self.narrower)

    @property
    def classes(self) -> int:
        return self.channels(1000)


@dataclass(frozen=True)
class Sequences:
    """A language model over words: two layers of LSTM."""

    hidden: int
    steps: int
    batch: int = 20
    vocabulary: int = 10_000
    scale: float = 0.1


@dataclass(frozen=True)
class Word2Vec:
    vocabulary: int = 50_000
    width: int = 128
    batch: int = 128
    negatives: int = 64


@dataclass(frozen=True)
class Transformer:
    layers: int = 4
    width: int = 256
    heads: int = 4
    length: int = 128
    batch: int = 8
    vocabulary: int = 5_000


@dataclass(frozen=True)
class Changing:
    """Networks whose shapes change from step to step."""

    batch: int = 16
    width: int = 64
    vocabulary: int = 1000
    longest: int = 40
    layers: int = 12  # from here on BERT-base
    wide: int = 768
    heads: int = 12
    tokens: int = 30_000
    sentences: int = 4
    shortest: int = 16
    most: int = 128
    side: int = 224  # from here on ResNet-101
    channels: int = 64
    pictures: int = 6


@dataclass(frozen=True)
class Firsts:
    """What costs at its first run, or stays on the host; see workloads/first_runs.py."""

    conds: int = 400
    turns: int = 1_000_000
    steps: int = 500  # of an unrolled network of 28,000 nodes
    batch: int = 8
    width: int = 32
    rows: int = 1000
    gathers: int = 200
    vocabulary: int = 5000  # from here on the sampler
    wide: int = 128
    layers: int = 4
    said: int = 64
    side: int = 512


@dataclass(frozen=True)
class Models:
    """Whole models; see workloads/models.py."""

    side: int = 299  # of Inception's pictures
    pictures: int = 4
    narrower: int = 1  # its channels are divided by this
    words: int = 40_000  # from here on the language model
    length: int = 20
    sentences: int = 16
    width: int = 512
    sampled: int = 512
    rows: int = 256  # from here on wide and deep
    columns: int = 26
    buckets: int = 10_000
    channels: int = 32  # of pictures that are made or marked
    batch: int = 32
    masks: int = 2
    scene: int = 128


@dataclass(frozen=True)
class Sizes:
    images: dict[str, Images]
    lstm_small: Sequences
    lstm_medium: Sequences
    word2vec: Word2Vec
    transformer: Transformer
    many: int = 1000  # tiny ops in one step
    table_rows: int = 1_000_000
    table_width: int = 64
    table_ids: int = 1024
    chain: int = 4_000_000
    grid_rows: int = 4096
    grid_columns: int = 1024
    square: int = 1024
    turns: int = 10_000  # of the loop
    lengths: Sequences = Sequences(256, 64, 32)  # padded; see workloads/loops.py
    long: Sequences = Sequences(512, 200, 32)  # for the memory of a loop's backward pass
    changing: Changing = Changing()
    firsts: Firsts = Firsts()
    models: Models = Models()


FULL = Sizes(
    images={
        "alexnet": Images(224, 32),
        "overfeat": Images(231, 16),
        "vgg_a": Images(224, 16),
        "googlenet": Images(224, 16),
        "googlenet_infer1": Images(224, 1),
        "resnet50": Images(224, 8),
        "resnet50_infer1": Images(224, 1),
        "resnet50_infer32": Images(224, 32),
    },
    lstm_small=Sequences(200, 20, scale=0.1),
    lstm_medium=Sequences(650, 35, scale=0.05),
    word2vec=Word2Vec(),
    transformer=Transformer(),
)

TINY = replace(
    FULL,
    images={
        "alexnet": Images(64, 2, 16),
        "overfeat": Images(71, 2, 16),
        "vgg_a": Images(32, 2, 16),
        "googlenet": Images(32, 2, 16),
        "googlenet_infer1": Images(32, 1, 16),
        "resnet50": Images(64, 2, 16),
        "resnet50_infer1": Images(64, 1, 16),
        "resnet50_infer32": Images(64, 2, 16),
    },
    lstm_small=Sequences(8, 3, 4, 100),
    lstm_medium=Sequences(12, 4, 4, 100),
    word2vec=Word2Vec(200, 8, 16, 4),
    transformer=Transformer(1, 16, 2, 8, 2, 50),
    many=20,
    table_rows=500,
    table_width=4,
    table_ids=16,
    chain=1000,
    grid_rows=64,
    grid_columns=32,
    square=32,
    turns=20,
    lengths=Sequences(8, 8, 4),
    long=Sequences(8, 10, 4),
    changing=Changing(4, 8, 50, 12, 1, 16, 2, 200, 2, 4, 9, 32, 4, 4),
    firsts=Firsts(4, 50, 4, 2, 4, 10, 5, 20, 8, 2, 6, 24),
    models=Models(75, 1, 16, 20, 3, 2, 8, 4, 8, 3, 20, 2, 2, 1, 16),
)
BY_NAME = {"full": FULL, "tiny": TINY}
