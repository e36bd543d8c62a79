"""What a tensor array's handle points to: cells that are written once and read once (or often).

The array of a gradient differs: writes to one cell are summed, and a cell that nobody wrote to reads
as zeros of the shape that the forward array has there.
"""

from __future__ import annotations

import itertools
import threading

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.messages.node_def import type_name

CONTAINER, GRADIENT_CONTAINER = "_tensor_arrays", "_tensor_array_grads"
_numbers = itertools.count()


def unique_name(name):
    """Every run of a creating node gives its array a name of its own."""
    return f"{name}_{next(_numbers)}"


class Cell:
    """`shape` without `value`: zeros."""

    __slots__ = ("value", "shape", "is_written", "is_read", "is_cleared")

    def __init__(self):
        self.value = self.shape = None
        self.is_written = self.is_read = self.is_cleared = False


class ArrayState:
    """The cells, and what they accept.  Every method holds the lock."""

    def __init__(
        self,
        name,
        dtype,
        size,
        element_shape,
        identical_element_shapes=False,
        dynamic_size=False,
        clear_after_read=True,
        is_gradient=False,
        marked_size=-1,
    ):
        self.name, self.dtype, self.element_shape = name, dtype, element_shape
        self.has_identical_shapes, self.has_dynamic_size = identical_element_shapes, dynamic_size
        self.clear_after_read, self.is_gradient = clear_after_read, is_gradient
        self.marked_size = marked_size  # of a split or unpack
        self.cells = [Cell() for _ in range(size)]
        self.gradients = {}  # by the call of tf.gradients that asked
        self.was_summed = self.is_closed = False
        self.lock = threading.RLock()

    # -- use ---------------------------------------------------------------------------------
    def write(self, index, value):
        with self.lock:
            self._check_open()
            if index < 0 or index >= len(self.cells):
                self._grow(index)
            if not _fits(self.element_shape, value.shape):
                refuse(
                    self._no_write(index)
                    + f"because the value shape is {shown(value.shape)} which is incompatible with the "
                    "TensorArray's inferred element shape: "
                    f"{partly_known(self.element_shape)} (consider setting infer_shape=False)."
                )
            if self.has_identical_shapes and not self.element_shape.is_full:
                self.element_shape = make_shape(value.shape)
            cell = self.cells[index]
            if cell.is_read:
                refuse(self._no_write(index) + "because it has already been read.")
            if not cell.is_written:
                cell.value, cell.shape, cell.is_written = value, value.shape, True
            elif self.is_gradient:
                self._add(cell, index, value)
            else:
                refuse(self._no_write(index) + "because it has already been written to.")

    def _no_write(self, index):
        return f"TensorArray {self.name}: Could not write to TensorArray index {index} "

    def _grow(self, index):
        size = len(self.cells)
        require(
            index >= 0 and self.has_dynamic_size,
            f"TensorArray {self.name}: Tried to write to index {index} but array is not resizeable "
            f"and size is: {size}",
        )
        self.cells += [Cell() for _ in range(index + 1 - size)]

    def _add(self, cell, index, value):
        require(
            value.shape == cell.shape,
            f"TensorArray {self.name}: Could not aggregate to TensorArray index {index} because the "
            f"existing shape is {shown(cell.shape)} but the new input shape is {shown(value.shape)}.",
        )
        if cell.value is None:
            cell.value = value
            return
        require(
            self.dtype.kind not in "bsrv",
            f"tensor_array::AddToTensor type not supported: {type_name(self.dtype)}",
        )
        cell.value = np.asarray(cell.value + value, self.dtype.numpy)
        self.was_summed = True

    def read(self, index):
        with self.lock:
            self._check_open()
            size = len(self.cells)
            if index < 0 or (index >= size and not self.is_gradient):
                refuse(f"Tried to read from index {index} but array size is: {size}")
            if index >= size or not self.cells[index].is_written:
                self._fill(index)
            cell = self.cells[index]
            if cell.is_cleared:
                refuse(
                    f"TensorArray {self.name}: Could not read index {index} twice because it was "
                    "cleared after a previous read (perhaps try setting clear_after_read = false?)."
                )
            if cell.value is None:
                cell.value = self._zeros(cell.shape)
            value, cell.is_read = cell.value, True
            if self.clear_after_read:
                cell.value, cell.is_cleared = None, True
            return value

    def _fill(self, index):
        """A cell that nobody wrote to, and those before it, become zeros."""
        size = len(self.cells)
        shape = self.cells[index].shape if index < size else None
        if shape is None:
            require(
                self.element_shape.is_full,
                f"TensorArray {self.name}: Could not read from TensorArray index {index}.  "
                "Furthermore, the element shape is not fully defined: "
                f"{partly_known(self.element_shape)}.  It is possible you are working with a "
                "resizeable TensorArray and stop_gradients is not allowing the gradients to be "
                "written.  If you set the full element_shape property on the forward TensorArray, the "
                "proper all-zeros tensor will be returned instead of incurring this error.",
            )
            shape = self.element_shape.sizes
        new = range(size, index + 1) if index >= size else [index]
        self.cells += [Cell() for _ in range(index + 1 - size)]
        for i in new:
            self.cells[i].shape, self.cells[i].is_written = shape, True

    def _zeros(self, shape):
        if self.dtype.kind in "srv":
            require(0 in shape, f"tensor_array::TensorSetZero type not supported: {type_name(self.dtype)}")
            return np.empty(shape, object)
        return np.zeros(shape, self.dtype.numpy)

    def narrow(self, shape):
        """The elements are of this shape, too."""
        with self.lock:
            require(
                self.element_shape.is_compatible_with(shape),
                f"Incompatible shapes during merge: {partly_known(self.element_shape)} vs. "
                f"{partly_known(shape)}",
            )
            self.element_shape = self.element_shape.merge_with(shape)

    def size(self):
        with self.lock:
            self._check_open()
            return len(self.cells)

    def whole_size(self):
        """How many cells a pack or concat takes."""
        size = self.size()
        return self.marked_size if self.is_gradient else size

    def mark_size(self, size):
        if not self.is_gradient:
            self.marked_size = size

    def gradient(self, source, prefix=()):
        """The array that collects gradients for this one; `prefix` goes before the shapes."""
        with self.lock:
            self.has_dynamic_size = False  # its size must not change any more
            size = self.size()
            require(
                not self.was_summed,
                f"Unable to create a gradients TensorArray for {self.name}.  Perhaps you used the "
                "multiple_writes_aggregate flag on a previous write?  Gradient calculation is "
                "impossible when multiple writes are performed to the same index.",
            )
            found = self.gradients.get(source)
            if found is None:
                found = self.gradients[source] = ArrayState(
                    f"{self.name}@{source}",
                    self.dtype,
                    size,
                    make_shape(prefix).concatenate(self.element_shape),
                    self.has_identical_shapes,
                    is_gradient=True,
                    marked_size=self.marked_size,
                )
                for mine, its in zip(self.cells, found.cells):
                    if mine.is_written:
                        its.shape, its.is_written = (*prefix, *mine.shape), True
            return found

    def close(self):
        with self.lock:
            self.cells.clear()
            self.gradients.clear()
            self.is_closed = True

    def _check_open(self):
        if self.is_closed:
            refuse(f"TensorArray {self.name} has already been closed.")


def refuse(message):
    raise InvalidArgumentError(None, None, message)


def _fits(element_shape, sizes):
    if element_shape.rank is None:
        return True
    wanted = element_shape.sizes
    return wanted == sizes or (
        len(wanted) == len(sizes) and all(w is None or w == s for w, s in zip(wanted, sizes))
    )


def shown(sizes):
    """[2,3]: sizes in a message of the runtime."""
    return "[" + ",".join(map(str, sizes)) + "]"


def partly_known(shape):
    if shape.rank is None:
        return "<unknown>"
    return shown("?" if s is None else s for s in shape.sizes)
