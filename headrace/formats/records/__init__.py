"""Records as bytes: TFRecord, events, examples, compression, checksums."""
