"""How many elements a dataset has; all of them in a file."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.formats.records.tfrecord import RecordWriter
from headrace.ops.data.file_contents import compression_of
from headrace.ops.data.pipeline.declaring import dataset_in, scalar_of
from headrace.ops.data.scan import consumed
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.traits import DEFERRED, FILES, HOST, STATEFUL


def _counting(name):
    @op(name, "input_dataset: variant -> cardinality: int64", shape=scalar, traits={HOST})
    def dataset_cardinality(ctx, input_dataset):
        """How many elements there are; -1: no end, -2: not known."""
        return np.array(dataset_in(input_dataset).cardinality(), np.int64)

    dataset_cardinality.no_gradient()
    return dataset_cardinality


dataset_cardinality = _counting("DatasetCardinality")
experimental_dataset_cardinality = _counting("ExperimentalDatasetCardinality")


def _writing(name):
    @op(
        name,
        "input_dataset: variant, filename: string, compression_type: string ->",
        shape=none,
        traits={STATEFUL, HOST, DEFERRED, FILES},
    )
    def dataset_to_tf_record(ctx, input_dataset, filename, compression_type):
        """Write all elements, strings, to a TFRecord file."""
        name, compression = scalar_of(filename, "filename"), compression_of(compression_type)

        def work(running, iterator):
            with RecordWriter(name, compression) as writer:
                while (element := iterator.next()) is not None:
                    running.check()
                    require(len(element) == 1 and np.ndim(element[0]) == 0, "Elements must be scalar strings")
                    writer.write(element[0].item())
            return ()

        return consumed(ctx, dataset_in(input_dataset), work, False)

    return dataset_to_tf_record


dataset_to_tf_record = _writing("DatasetToTFRecord")
experimental_dataset_to_tf_record = _writing("ExperimentalDatasetToTFRecord")
