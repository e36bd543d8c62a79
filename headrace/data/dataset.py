"""tf.data.Dataset: a pipeline as the program sees it, one object for each of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.modules import late
from headrace.data.values import structure
from headrace.data.values.options import Options
from headrace.data.values.spec import DatasetSpec
from headrace.functions.values.composite import CompositeTensor, register_type_spec_from_value_converter
from headrace.graph.defaults import get_default_graph

batching = late("headrace.data.batching")
choosing = late("headrace.data.choosing")
combining = late("headrace.data.combining")
files = late("headrace.data.files")
generator = late("headrace.data.generator")
iterators = late("headrace.data.iterators")
mapping = late("headrace.data.mapping")
ordering = late("headrace.data.ordering")
owned_iterator = late("headrace.data.owned_iterator")
reducing = late("headrace.data.reducing")
sources = late("headrace.data.sources")


class Dataset(CompositeTensor):
    """A sequence of elements, described step by step.

    An element is a nest of tensors (tuples and dicts of dense, sparse and ragged tensors).  A dataset is
    made from a source (`from_tensor_slices`, `TFRecordDataset`, ...) and changed by transformations, each of
    which gives another dataset.  An iterator takes its elements.

    Example:
      >>> dataset = tf.data.Dataset.range(6).map(lambda x: x * x).batch(4)
      >>> element = dataset.make_one_shot_iterator().get_next()
      >>> with tf.Session() as sess:
      ...     sess.run(element)
      array([0, 1, 4, 9])
    """

    def __init__(
        self,
        variant_tensor: Any,
        element_spec: Any,
        inputs: Sequence[Dataset] = (),
        functions: Sequence[Any] = (),
        options: Any = None,
    ) -> None:
        self._variant_tensor, self._element_spec = variant_tensor, element_spec
        self._input_datasets, self._used_functions = tuple(inputs), tuple(functions)
        self._own_options = options
        self._graph = get_default_graph()

    # -- what it is --------------------------------------------------------------------------------
    @property
    def element_spec(self) -> Any:
        """The nest of TypeSpecs that describes an element."""
        return self._element_spec

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return structure.legacy_classes(self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each component of an element."""
        return structure.legacy_shapes(self.element_spec)

    @property
    def output_types(self) -> Any:
        """The type of each component of an element."""
        return structure.legacy_types(self.element_spec)

    @property
    def _type_spec(self) -> Any:
        return DatasetSpec(self.element_spec)

    @property
    def _flat_structure(self) -> dict[str, Any]:
        return structure.flat_structure(self.element_spec)

    @property
    def _flat_shapes(self) -> list[Any]:
        return structure.get_flat_tensor_shapes(self.element_spec)

    @property
    def _flat_types(self) -> list[Any]:
        return structure.get_flat_tensor_types(self.element_spec)

    def _inputs(self) -> list[Dataset]:
        return list(self._input_datasets)

    def _functions(self) -> list[Any]:
        return list(self._used_functions)

    def _has_captured_ref(self) -> bool:
        """Whether a function here or before captured something that comes from a variable by reference."""

        def from_reference(tensor: Any, seen: set[Any]) -> bool:
            if tensor.dtype.is_ref:
                return True
            if tensor.op in seen:
                return False
            seen.add(tensor.op)
            return any(from_reference(x, seen) for x in tensor.op.inputs)

        captured = (t for f in self._functions() for t in f.captured)
        found = any(from_reference(t, set()) for t in captured)
        return found or any(x._has_captured_ref() for x in self._inputs())

    def options(self) -> Any:
        """The options of this dataset and of those that it is made of, together."""
        found = Options()
        for dataset in self._inputs():
            found = found.merge(dataset.options())
        return found if self._own_options is None else found.merge(self._own_options)

    def __iter__(self) -> Any:
        # In the body of a function, an element is a tensor, and Python's loop would never end.
        if not get_default_graph().runs_at_once:
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is enabled."
            )
        return owned_iterator.OwnedIterator(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    # -- iterators ---------------------------------------------------------------------------------
    def make_one_shot_iterator(self) -> Any:
        """An iterator over the elements, once; it starts by itself.

        Raises:
          ValueError: a function of the dataset uses a variable, a table or another thing with state.
        """
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(
        self, shared_name: str | None = None, force_deactivate_gpu_prefetching: bool = False
    ) -> Any:
        """An iterator that starts when its `initializer` runs.

        Args:
          shared_name: the name under which sessions of a task share it.
          force_deactivate_gpu_prefetching: has no effect.
        """
        return iterators.make_initializable_iterator(self, shared_name)

    # -- sources -----------------------------------------------------------------------------------
    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """The one element `tensors`."""
        return sources.from_tensors(tensors)  # type: ignore[no-any-return]

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The slices of `tensors` along the first dimension, which all have the same size there."""
        return sources.from_tensor_slices(tensors)  # type: ignore[no-any-return]

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The rows of a sparse tensor.  `from_tensor_slices` does the same."""
        return sources.from_sparse_tensor_slices(sparse_tensor)  # type: ignore[no-any-return]

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """The elements that a Python generator gives.

        Args:
          generator: called for every pass over the dataset; gives something to iterate over.
          output_types: a nest of the types of an element.
          output_shapes: a nest of shapes, or None.
          args: tensors whose values `generator` is called with.
        """
        return _generator(generator, output_types, output_shapes, args)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """Numbers, as Python's `range` has them: stop; or start, stop; or start, stop, step."""
        return sources.range_(*args)  # type: ignore[no-any-return]

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: Any = None) -> Dataset:
        """The names of all files that match one of the patterns.

        Args:
          file_pattern: a string, a list of strings, or a tensor.
          shuffle: whether their order is random; default True.
          seed: the seed of that order.
        """
        return files.list_files(file_pattern, shuffle, seed)  # type: ignore[no-any-return]

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Nests of the elements that the datasets in a nest have at the same place."""
        return combining.zip_(datasets)  # type: ignore[no-any-return]

    # -- order and number --------------------------------------------------------------------------
    def concatenate(self, dataset: Dataset) -> Dataset:
        """The elements of this dataset, then those of the other."""
        return combining.concatenate(self, dataset)  # type: ignore[no-any-return]

    def prefetch(self, buffer_size: Any) -> Dataset:
        """Elements are made in the background, up to `buffer_size` of them before they are asked for."""
        return ordering.prefetch(self, buffer_size)  # type: ignore[no-any-return]

    def repeat(self, count: Any = None) -> Dataset:
        """All elements, `count` times; without end if it is None or -1."""
        return ordering.repeat(self, count)  # type: ignore[no-any-return]

    def enumerate(self, start: Any = 0) -> Dataset:
        """Pairs of a number, counted from `start`, and an element."""
        return combining.enumerate_(self, start)  # type: ignore[no-any-return]

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Elements in random order: each is drawn from the next `buffer_size`.

        Args:
          buffer_size: how many elements wait to be drawn.
          seed: the seed of the order.
          reshuffle_each_iteration: whether repetitions have different orders; default True.
        """
        return ordering.shuffle(self, buffer_size, seed, reshuffle_each_iteration)  # type: ignore[no-any-return]

    def cache(self, filename: Any = "") -> Dataset:
        """Elements are kept, in a file or in memory, when they are made for the first time."""
        return ordering.cache(self, filename)  # type: ignore[no-any-return]

    def take(self, count: Any) -> Dataset:
        """At most the first `count` elements; all for -1."""
        return choosing.take(self, count)  # type: ignore[no-any-return]

    def skip(self, count: Any) -> Dataset:
        """All but the first `count` elements; none for -1."""
        return choosing.skip(self, count)  # type: ignore[no-any-return]

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every `num_shards`-th element, from the one at `index`."""
        return choosing.shard(self, num_shards, index)  # type: ignore[no-any-return]

    # -- batches -----------------------------------------------------------------------------------
    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Dataset:
        """`batch_size` elements each, stacked.

        Args:
          batch_size: how many.
          drop_remainder: whether a last batch with fewer elements is left out.
        """
        return batching.batch(self, batch_size, drop_remainder)  # type: ignore[no-any-return]

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: Any = False
    ) -> Dataset:
        """The same for elements of different sizes, which are filled up.

        Args:
          batch_size: how many.
          padded_shapes: a nest of the shapes that components get; an unknown size means the largest in
            the batch.
          padding_values: a nest of what they are filled up with; zeros and empty strings by default.
          drop_remainder: whether a last batch with fewer elements is left out.
        """
        return batching.padded_batch(  # type: ignore[no-any-return]
            self, batch_size, padded_shapes, padding_values, drop_remainder
        )

    def unbatch(self) -> Dataset:
        """The slices of every element along the first dimension."""
        return batching.unbatch(self)  # type: ignore[no-any-return]

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False) -> Dataset:
        """Nests of datasets, each of which has `size` elements.

        Args:
          size: how many elements a window has.
          shift: how many elements the next window begins later; default `size`.
          stride: how many elements apart those in a window are.
          drop_remainder: whether last windows with fewer elements are left out.
        """
        return batching.window(self, size, shift, stride, drop_remainder)  # type: ignore[no-any-return]

    # -- functions of elements ---------------------------------------------------------------------
    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """`map_func` of every element.

        Args:
          map_func: a function of an element; of its parts, if it is a tuple.
          num_parallel_calls: how many calls may run at once; tf.data.experimental.AUTOTUNE: as many as
            help.
        """
        return mapping.map_(self, map_func, num_parallel_calls)  # type: ignore[no-any-return]

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None
    ) -> Dataset:
        """The same, with a function as `Defun` makes them."""
        return mapping.map_(self, map_func, num_parallel_calls, True)  # type: ignore[no-any-return]

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that `map_func` gives for every element, one after the other."""
        return mapping.flat_map(self, map_func)  # type: ignore[no-any-return]

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = -1,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Dataset:
        """The elements of several such datasets by turns.

        Args:
          map_func: a function from an element to a dataset.
          cycle_length: how many datasets take turns; -1: as many as there are cores.
          block_length: how many elements come from a dataset in its turn.
          num_parallel_calls: how many datasets are read at once; without it, one.
        """
        return mapping.interleave(  # type: ignore[no-any-return]
            self, map_func, cycle_length, block_length, num_parallel_calls
        )

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which `predicate` is true."""
        return choosing.filter_(self, predicate)  # type: ignore[no-any-return]

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """The same, with a function as `Defun` makes them."""
        return choosing.filter_(self, predicate, True)  # type: ignore[no-any-return]

    def apply(self, transformation_func: Callable[[Any], Any]) -> Dataset:
        """What `transformation_func` makes of this dataset.

        Raises:
          TypeError: it does not give a dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {type(made)}.")
        return made

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """One element from all: state = reduce_func(state, element), beginning with `initial_state`."""
        return reducing.reduce(self, initial_state, reduce_func)

    def with_options(self, options: Any) -> Dataset:
        """The same dataset with these options too.

        Raises:
          ValueError: an option is set differently already.
        """
        made = Dataset(self._variant_tensor, self.element_spec, [self], options=options)
        made.options()
        return made


def _generator(function: Any, output_types: Any, output_shapes: Any, args: Any) -> Dataset:
    return generator.from_generator(function, output_types, output_shapes, args)  # type: ignore[no-any-return]


register_type_spec_from_value_converter(Dataset, DatasetSpec.from_value, allow_subclass=True)
