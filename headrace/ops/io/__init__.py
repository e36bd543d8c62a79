"""Files and messages: checkpoints, records, examples, summaries."""
