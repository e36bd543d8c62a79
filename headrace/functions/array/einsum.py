"""einsum: sums of products of any number of tensors, written as "ij,jk->ik".

Labels are resolved first (dots get letters of their own); then the inputs are folded pair by pair,
each pair a product of matrices or, where nothing is summed, an element-wise product.
"""

from __future__ import annotations

import re
import string
from typing import Any

from headrace.core.shapes import Shape
from headrace.functions.linalg import linalg, matrix
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import pack
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic

DOTS = "..."


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The tensor that an equation of labelled axes describes, as np.einsum does.

    Axes that the right side lacks are summed over.  Without "->", the right side has the labels
    that occur once, in alphabetical order.

    Args:
      equation: labels of the inputs, separated by commas, then "->" and those of the result.
      *inputs: one tensor for each part of the equation.
      **kwargs: `name`, the name of the scope.

    Returns:
      The contraction.

    Raises:
      ValueError: the equation is malformed or does not fit the inputs; or a label repeats within
        one input (other than a trace, "ii").

    Example:
      >>> tf.einsum("ij,jk->ik", a, b)        # a @ b
      >>> tf.einsum("bi,bj->bij", u, v)       # outer products
    """
    name = kwargs.pop("name", None)
    if kwargs:
        unknown = ", ".join(sorted(kwargs))
        raise TypeError(f"invalid keyword arguments for this function: {unknown}")
    with name_scope(name, "einsum", [equation, *inputs]):
        tensors = [convert_to_tensor(x) for x in inputs]
        labels, output = resolve(equation, [t.shape for t in tensors])
        if "->" not in equation and len(labels) == 1 and _is_trace(labels[0]):
            return matrix.trace(tensors[0])
        for own in labels:
            if len(set(own)) != len(own):
                raise ValueError(f"Subscript not supported: an axis appears more than once: {own}")
        shared = {c for own in labels for c in own if sum(c in o for o in labels) > 2}
        if shared - set(output):
            return _product_of_all(tensors, labels, output)
        return _fold(tensors, labels, output, equation)


def _is_trace(labels: str) -> bool:
    """A palindrome in which a label stands twice: TF's sign of a trace."""
    return labels == labels[::-1] and any(labels.count(c) == 2 for c in labels)


def resolve(equation: str, shapes: list[Shape]) -> tuple[list[str], str]:
    """The labels of every input and of the result, dots replaced by unused letters."""
    equation = equation.replace(" ", "")
    match = re.match(r"^([a-zA-Z,.]+)(->[a-zA-Z.]*)?$", equation)
    if not match:
        raise ValueError(f"Indices have incorrect format: {equation}")
    labels = match.group(1).split(",")
    output = match.group(2)[2:] if match.group(2) else None
    if len(shapes) != len(labels):
        raise ValueError(f'Got {len(shapes)} arguments for equation "{equation}", expecting {len(labels)}')
    dots = ""
    if DOTS in equation:
        unused = "".join(c for c in string.ascii_letters if c not in "".join(labels))
        parts = [_without_dots(own, shape, unused) for own, shape in zip(labels, shapes)]
        labels = [own for own, _ in parts]
        dots = max((new for _, new in parts), key=len)
        output = None if output is None else output.replace(DOTS, dots)
    if any("." in own for own in (*labels, output or "")):
        raise ValueError('period "." found outside of ellipsis')
    if output is None:
        named = [c for own in labels for c in own if c not in dots]
        output = dots + "".join(sorted(c for c in named if named.count(c) == 1))
    return labels, output


def _without_dots(labels: str, shape: Shape, unused: str) -> tuple[str, str]:
    """The labels with letters for the dots, and these letters."""
    if DOTS not in labels:
        return labels, ""
    parts = labels.split(DOTS)
    if len(parts) != 2:
        raise ValueError("Unable to resolve ellipsis. Excess number found.")
    if shape.rank is None:
        raise ValueError("Unable to statically infer ellipsis axes.")
    count = shape.rank - len("".join(parts))
    if count < 0:
        raise ValueError("Ellipses lengths do not match.")
    if len(unused) < count:
        raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
    letters = unused[-count:] if count else ""
    return letters.join(parts), letters


# -- pair by pair -------------------------------------------------------------------------------
def _fold(tensors: list[Tensor], labels: list[str], output: str, equation: str) -> Tensor:
    result, own = tensors[0], labels[0]
    for tensor, other in zip(tensors[1:], labels[1:]):
        summed = set(own) & set(other) - set(output)
        result, own = _contract(result, own, tensor, other, summed)
    rest = [i for i, c in enumerate(own) if c not in output]
    if rest:
        result = reduce_sum(result, rest)
        own = "".join(c for c in own if c in output)
    if sorted(own) != sorted(output):
        raise ValueError(f"Invalid equation: {equation}")
    return _ordered(result, own, output)


def _ordered(x: Tensor, labels: str, wanted: str) -> Tensor:
    if labels == wanted:
        return x
    return array.transpose(x, [labels.index(c) for c in wanted])


def _contract(a: Tensor, a_labels: str, b: Tensor, b_labels: str, summed: set[str]) -> tuple[Tensor, str]:
    """The product of two tensors, summed over common axes; with the labels of the result."""
    for i, (x, labels) in enumerate(((a, a_labels), (b, b_labels))):
        rank = x.shape.rank
        if rank is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        if rank != len(labels):
            raise ValueError(
                f"Tensor t{i} of rank {rank} does not match einsum reduction of length {len(labels)}"
            )
    kept = "".join(sorted(set(a_labels) & set(b_labels) - summed))
    inner = "".join(sorted(summed))
    a_free = "".join(sorted(set(a_labels) - set(b_labels)))
    b_free = "".join(sorted(set(b_labels) - set(a_labels)))
    a = _ordered(a, a_labels, kept + a_free + inner)
    b = _ordered(b, b_labels, kept + inner + b_free)
    out = kept + a_free + b_free
    if not summed:
        for _ in b_free:
            a = array.expand_dims(a, -1)
        for _ in a_free:
            b = array.expand_dims(b, len(kept))
        return arithmetic.mul(a, b), out
    a_sizes, b_sizes = _sizes(a), _sizes(b)
    batch, k = a_sizes[: len(kept)], len(kept)
    length = _total(a_sizes[k + len(a_free) :])
    left = _reshaped(a, [*batch, _total(a_sizes[k : k + len(a_free)]), length])
    right = _reshaped(b, [*b_sizes[:k], length, _total(b_sizes[k + len(inner) :])])
    product = linalg.matmul(left, right)
    free = a_sizes[: k + len(a_free)] + b_sizes[k + len(inner) :]
    return _reshaped(product, free), out


def _sizes(x: Tensor) -> list[Any]:
    """The sizes of all axes: numbers where known, tensors elsewhere."""
    sizes: list[Any] = x.shape.as_list()
    if None in sizes:
        at_run_time = array.shape(x)
        sizes = [at_run_time[i] if n is None else n for i, n in enumerate(sizes)]
    return sizes


def _total(sizes: list[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = size if isinstance(total, int) and total == 1 else total * size
    return total


def _reshaped(x: Tensor, sizes: list[Any]) -> Tensor:
    if x.shape.as_list() == sizes:
        return x
    if any(isinstance(n, Tensor) for n in sizes):
        return array.reshape(x, pack(sizes))
    return array.reshape(x, convert_to_tensor(sizes, dtype="int32"))


# -- a label of more than two inputs ------------------------------------------------------------
def _product_of_all(tensors: list[Tensor], labels: list[str], output: str) -> Tensor:
    """Multiply everything in the space of all labels, then sum: memory grows with all of them."""
    every = "".join(sorted(set("".join(labels)) - set(output))) + output
    for label in output:
        if not any(label in own for own in labels):
            raise ValueError(f"Unknown output axes: {label}")
    product: Any = None
    for i, (x, own) in enumerate(zip(tensors, labels)):
        if x.shape.rank != len(own):
            raise ValueError(
                f"Input {i} with axes {own} has incorrect number of dimensions "
                f"(expected {len(own)}, got {x.shape.rank})"
            )
        x = _ordered(x, own, "".join(c for c in every if c in own))
        for axis, label in enumerate(every):
            if label not in own:
                x = array.expand_dims(x, axis)
        product = x if product is None else _multiplied(product, x, every)
    return reduce_sum(product, list(range(len(every) - len(output))))


def _multiplied(a: Tensor, b: Tensor, labels: str) -> Tensor:
    for label, p, q in zip(labels, a.shape.sizes, b.shape.sizes):
        if None not in (p, q) and 1 not in (p, q) and p != q:
            raise ValueError(f"Dimension mismatch on axis: {label}")
    return arithmetic.mul(a, b)
