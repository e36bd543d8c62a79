"""Einsum: sums of products of one or two tensors, written as "ij,jk->ik".

A label names a dimension; labels that the result lacks are summed over; a label that repeats within
one operand takes its diagonal (within the result: fills a diagonal); "..." stands for dimensions
that broadcast.
"""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, broadcast_sizes, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Int, String, Type
from headrace.ops.linalg.matrix_shape import equal

DOTS = "..."


def parse(equation):
    """(labels of each input, labels of the output) of an explicit equation."""
    sides = equation.split("->")
    require(len(sides) == 2, f"Expecting exactly one '->' in einsum equation: {equation}")
    inputs = sides[0].split(",")
    require(
        len(inputs) in (1, 2),
        f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(inputs)}",
    )
    for labels in (*inputs, sides[1]):
        named = labels.replace(DOTS, "", 1)
        require(
            "." not in named,
            f"Expecting at most one ellipsis and no other periods in the subscripts '{labels}'",
        )
        bad = [c for c in named if not (c.isascii() and c.isalpha())]
        require(not bad, f"Invalid label in einsum equation '{equation}': {bad[:1]}")
    return inputs, sides[1]


def matched(labels, sizes, where):
    """(named labels with their sizes, the sizes that the dots stand for)."""
    before, dots, after = labels.partition(DOTS)
    rank, named = len(sizes), len(before) + len(after)
    if dots:
        require(rank >= named, f"Shape must be at least rank {named} but is rank {rank} for {where}")
    else:
        require(rank == named, f"Shape must be rank {named} but is rank {rank} for {where}")
    end = rank - len(after)
    pairs = [*zip(before, sizes), *zip(after, sizes[end:])]
    return pairs, tuple(sizes[len(before) : end])


def resolve(equation, shapes):
    """The size of each label, and the broadcast dimensions (None if not known)."""
    inputs, output = parse(equation)
    require(
        len(shapes) == len(inputs),
        f"Expected {len(inputs)} inputs for equation {equation} but got: {len(shapes)}",
    )
    found, batch = {}, ()
    for i, (labels, sizes) in enumerate(zip(inputs, shapes)):
        if sizes is None:
            for label in labels.replace(DOTS, ""):
                found.setdefault(label, None)
            batch = None if DOTS in labels else batch
            continue
        pairs, dots = matched(labels, sizes, f"{i}th input and equation: {equation}")
        for label, size in pairs:
            found[label] = equal(found.get(label), size, *map(make_shape, shapes))
        if batch is not None:
            try:
                batch = broadcast_sizes(batch, dots)
            except ValueError as conflict:
                require(False, f"Incompatible shapes: {conflict} in einsum '{equation}'")
    require(
        DOTS in output or not batch,
        f"Shape must be at most rank 0 for einsum equation '{equation}' without ellipsis (...) in "
        "the output subscripts where input(s) have non-empty broadcasting shape",
    )
    for label in output.replace(DOTS, ""):
        require(
            label in found,
            f"Einsum output subscripts for equation '{equation}' has label '{label}' which is not "
            "present in the input subscripts",
        )
    return found, batch


def einsum_shape(inputs, *, equation):
    require(len(inputs) <= 2, f"Expected either 1 or 2 inputs but got: {len(inputs)}")
    shapes = [None if x.rank is None else x.sizes for x in inputs]
    sizes, batch = resolve(equation, shapes)
    before, dots, after = parse(equation)[1].partition(DOTS)
    if dots and batch is None:
        return UNKNOWN
    middle = batch if dots else ()
    return make_shape([*(sizes[c] for c in before), *middle, *(sizes[c] for c in after)])


@op("Einsum", "inputs: N*T -> output: T", equation=String(), N=Int(min=1), T=Type(), shape=einsum_shape)
def einsum(inputs, *, equation):
    """The sum of products that the equation describes."""
    resolve(equation, [x.shape for x in inputs])
    given, output = parse(equation)
    once = "".join(dict.fromkeys(output.replace(DOTS, "")))
    target = DOTS * (DOTS in output) + once
    product = np.einsum(f"{','.join(given)}->{target}", *map(widen, inputs), optimize="greedy")
    if target == output:
        return product
    return _spread(product, once, output)


def _spread(product, once, output):
    """Put the dimensions (dots first) in the order of `output`; repeated ones fill a diagonal."""
    dots = product.ndim - len(once)
    before, has_dots, after = output.partition(DOTS)
    order = [*before, *range(dots if has_dots else 0), *after]
    sizes = dict(zip([*range(dots), *once], product.shape))
    out = np.zeros([sizes[label] for label in order], product.dtype)
    place = np.ogrid[tuple(slice(n) for n in product.shape)]
    index = dict(zip([*range(dots), *once], place))
    out[tuple(index[label] for label in order)] = product
    return out


@einsum.samples
def _(rng):
    def sample(equation, *shapes, **options):
        return Sample([rng.normal(size=s) for s in shapes], equation=equation, **options)

    for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("abc->ca", (2, 3, 4)),
        ("aab->b", (3, 3, 2)),
        ("a->aa", (3,)),
        (",->", (), ()),
        ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
        ("ij,jk...k->...i", (3, 2), (2, 4, 5, 4)),
        ("i,j->ij", (0,), (3,)),
    ):
        yield sample(equation, *shapes)
    ones = np.ones((2, 3))
    yield ErrorSample([ones, ones], equation="ij,jk->ik", raises="must be equal")
    yield ErrorSample([ones, ones], equation="ij,jk", raises="exactly one '->'")
    yield ErrorSample([ones], equation="ijk->i", raises="must be rank 3 but is rank 2")
    yield ErrorSample([ones], equation="ij->k", raises="not present in the input")
    yield ErrorSample([ones], equation="...j->j", raises="without ellipsis")
