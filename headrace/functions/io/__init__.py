"""Parsing of examples, records, files of graphs, summaries."""
