"""tf.contrib.eager.Iterator: the elements of a dataset as values."""

from __future__ import annotations

from headrace.data.dataset import Dataset
from headrace.data.owned_iterator import OwnedIterator
from headrace.graph.defaults import get_default_graph


class Iterator(OwnedIterator):
    """Goes over a dataset, in eager mode.

    Args:
      dataset: what it goes over.

    Raises:
      RuntimeError: a graph is being built.
    """

    def __init__(self, dataset: Dataset) -> None:
        if not get_default_graph().runs_at_once:
            raise RuntimeError(
                "tf.data.Dataset iteration with tf.contrib.eager.Iterator is only supported in eager mode: "
                "use tf.compat.v1.data.make_initializable_iterator or "
                "tf.compat.v1.data.make_one_shot_iterator for graph construction"
            )
        super().__init__(dataset)
