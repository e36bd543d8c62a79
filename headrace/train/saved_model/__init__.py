"""SavedModels: a folder with graphs, variables and assets, written by a builder, read by a loader."""
