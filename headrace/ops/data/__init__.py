"""Ops of input pipelines.  A dataset op gives a variant that holds a description (pipeline.dataset.Dataset);
iterator ops make iterators of it and take elements from them."""
