"""tf.contrib.legacy_seq2seq: one sequence read, another written, both unrolled step by step."""
