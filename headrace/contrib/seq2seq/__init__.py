"""tf.contrib.seq2seq: decoders that write a sequence step by step, with attention and beam search."""
