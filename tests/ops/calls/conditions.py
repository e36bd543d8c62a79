"""When an answer may differ from TensorFlow's: the conditions that docs/differences.md names.

In: a call and one difference of its answers, ours and TensorFlow's (Case).  Out: whether a condition
holds.  A condition is a name of this module's table, `attribute=value`, the name of a part (`output 3`,
`gradient`), `TF: words of its refusal` or `ours: words of ours`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from headrace.core.dtypes import as_dtype
from tests.ops.calls.answers import Difference
from tests.ops.calls.random_calls import Call


@dataclass
class Case:
    call: Call
    difference: Difference  # of our answer, which was found, from TensorFlow's, which was wanted

    def numbers(self) -> Iterator[np.ndarray]:
        """The inputs that hold real or complex numbers."""
        return (x for _, _, x in self.call.arrays() if as_dtype(x.dtype).kind in "fc")

    def indices(self) -> Iterator[np.ndarray]:
        return (x for i, _, x in self.call.arrays() if self.call.is_index(i))

    def attribute(self, name: str) -> object:
        spec = self.call.op.signature.attrs.get(name)
        for i, _, x in self.call.arrays():
            if self.call.op.signature.inputs[i].type_attr == name:
                return as_dtype(x.dtype)
        return self.call.attrs.get(name, None if spec is None else spec.default)


def holds(condition: str, case: Case) -> bool:
    if condition in CONDITIONS:
        return CONDITIONS[condition](case)
    head, colon, words = condition.partition(": ")
    if colon:
        ours, theirs = case.difference.refusals
        return words in {"TF": theirs, "ours": ours}[head]
    name, equals, value = condition.partition("=")
    if equals:
        return _spelled(case.attribute(name)) == value
    return case.difference.part == condition or case.difference.part.split()[0] == condition


def is_known(condition: str, attributes: set[str]) -> bool:
    """Whether a condition can be understood for an op with these attributes."""
    if condition in CONDITIONS or condition.partition(": ")[0] in ("TF", "ours"):
        return True
    name, equals, _ = condition.partition("=")
    return name in attributes if equals else condition.split()[0] in ("output", "variable", "gradient")


def _spelled(value: object) -> str:
    name = getattr(value, "name", None)
    return value.decode() if isinstance(value, bytes) else str(value if name is None else name)


# -- what the call holds -------------------------------------------------------------------------
def _sizes(x: np.ndarray) -> np.ndarray:
    return np.abs(x if x.dtype.kind == "c" else x.astype(np.float64))


def _has_nan(case: Case) -> bool:
    return any(np.isnan(_sizes(x)).any() for x in case.numbers())


def _is_not_finite(case: Case) -> bool:
    return any(not np.isfinite(_sizes(x)).all() for x in case.numbers())


def _is_extreme(case: Case) -> bool:
    """Not finite, or so large or small that the square of such a number is not, or nothing."""
    for x in case.numbers():
        sizes = _sizes(x)
        range_ = as_dtype(x.dtype).real_dtype if x.dtype.kind == "c" else as_dtype(x.dtype)
        if not np.isfinite(sizes).all() or (sizes > float(range_.max) ** 0.5).any():
            return True
        if ((sizes > 0) & (sizes < float(range_.max) ** -0.5)).any():
            return True
    return False


def _is_steep(case: Case) -> bool:
    """Numbers whose exponential is not finite."""
    tops = ((_sizes(x), np.log(float(as_dtype(x.dtype).real_dtype.max))) for x in case.numbers())
    return any((sizes > top).any() for sizes, top in tops)


def _is_below_zero(case: Case) -> bool:
    return any((x.real < 0).any() for x in case.numbers())


def _is_narrow(case: Case) -> bool:
    """Integers of the first input so close together that, in their range, they are one float32."""
    first = next(case.call.arrays())[2]
    first = first.view(first.dtype[0]) if first.dtype.names else first
    if first.dtype.kind != "i":
        return False
    spread = int(first.max(initial=0)) - int(first.min(initial=0))
    return spread < 2.0**-23 * 2.0 ** (8 * first.dtype.itemsize)


def _is_empty(case: Case) -> bool:
    return any(not x.size for _, _, x in case.call.arrays())


def _is_complex(case: Case) -> bool:
    return any(x.dtype.kind == "c" for x in case.numbers())


def _is_half(case: Case) -> bool:
    return any(x.dtype.itemsize == 2 for x in case.numbers())


def _is_double(case: Case) -> bool:
    return any(x.dtype in (np.float64, np.complex128) for x in case.numbers())


def _is_integer(case: Case) -> bool:
    """The first input holds integers."""
    return next(case.call.arrays())[2].dtype.kind in "iu"


def _is_sorted(x: np.ndarray) -> bool:
    """Rows of coordinates in order, and none twice."""
    rows = x.tolist()
    return all(a < b for a, b in itertools.pairwise(rows))


def _is_disordered(case: Case) -> bool:
    return not all(_is_sorted(x) for x in case.indices() if x.ndim == 2)


def _has_repeated_rows(case: Case) -> bool:
    """Coordinates that occur twice."""
    tables = (x for x in case.indices() if x.ndim == 2)
    return any(len({*map(tuple, x.tolist())}) < len(x) for x in tables)


def _has_disordered_rows(case: Case) -> bool:
    """Rows of the first input that do not grow."""
    rows = next(case.call.arrays())[2].astype(np.float64)
    return rows.ndim > 0 and not bool((np.diff(rows, axis=-1) >= 0).all())


def _leaves_its_shape(case: Case) -> bool:
    """Coordinates beyond the dense shape beside them, which may be anything."""
    tables = [x for x in case.indices() if x.ndim == 2]
    shapes = [x for x in case.indices() if x.ndim == 1]
    return any(
        (table < 0).any() or (table >= shape).any() or (shape < 0).any()
        for table in tables
        for shape in shapes
        if shape.size == table.shape[1]
    )


def _has_several_images(case: Case) -> bool:
    shape = next(case.call.arrays())[2].shape
    return len(shape) > 0 and shape[0] > 1


def _is_channels_first(case: Case) -> bool:
    return str(case.attribute("data_format")).startswith("NC")


def _is_dilated(case: Case) -> bool:
    steps = case.attribute("dilations") or case.attribute("rates")
    return isinstance(steps, (list, tuple)) and any(int(n) > 1 for n in steps)


def _is_grouped(case: Case) -> bool:
    """Fewer channels in a filter than in an image."""
    arrays = [x for _, _, x in case.call.arrays() if x.ndim >= 4]
    sizes = [x for x in case.indices() if x.ndim == 1 and x.size >= 4]
    shapes = [tuple(x.shape) for x in arrays] + [tuple(x.tolist()) for x in sizes]
    return any(a[-1] != b[-2] and a[-1] % max(int(b[-2]), 1) == 0 for a in shapes for b in shapes)


def _matrices(case: Case) -> Iterator[np.ndarray]:
    """The square matrices of a call; three diagonals are one."""
    if case.call.op.name == "TridiagonalSolve":
        above, middle, below = np.moveaxis(case.call.inputs[0], -2, 0)
        places = np.arange(middle.shape[-1])
        square = np.zeros((*middle.shape, len(places)), middle.dtype)
        square[..., places, places] = middle
        square[..., places[:-1], places[1:]] = above[..., :-1]
        square[..., places[1:], places[:-1]] = below[..., 1:]
        yield square
    else:
        yield from (x for x in case.numbers() if x.ndim > 1 and x.shape[-1] == x.shape[-2])


def _is_singular(case: Case) -> bool:
    """A square matrix whose least singular value is nothing beside its largest: half of the digits, or
    more, are lost."""
    for x in _matrices(case):
        if not x.size or not np.isfinite(_sizes(x)).all():
            continue
        values = np.linalg.svd(x.astype(np.complex128), compute_uv=False)
        if (values[..., -1] <= ml_dtypes.finfo(x.real.dtype).eps ** 0.5 * values[..., 0]).any():
            return True
    return False


def _has_ties(case: Case) -> bool:
    """A number that occurs twice in an input."""
    return any(np.unique(x).size < x.size for x in case.numbers())


def _overlaps_as_allowed(case: Case) -> bool:
    """Two boxes whose overlap is the threshold, but for rounding."""
    boxes = np.asarray(case.call.inputs[0], np.float64).reshape(-1, 4)
    names = [a.name for a in case.call.op.signature.inputs]
    given = [case.call.inputs[names.index(n)] for n in names if n in ("iou_threshold", "overlap_threshold")]
    most = float(np.ravel(given[0])[0]) if given else float(str(case.attribute("iou_threshold")))
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    area, common = (high - low).prod(1), np.maximum(shared, 0).prod(2)
    with np.errstate(all="ignore"):
        overlap = np.nan_to_num(common / (area[:, None] + area - common))
    np.fill_diagonal(overlap, np.inf)
    return bool((np.abs(overlap - most) < 1e-5).any())


def _has_other_length(case: Case) -> bool:
    """A transform longer or shorter than what there is to be transformed."""
    x, length = case.call.inputs[:2]
    sizes = [*x.shape[-length.size :]]
    if x.dtype.kind == "c":
        sizes[-1] = 2 * (sizes[-1] - 1)
    return sizes != length.tolist()


def _is_soft(case: Case) -> bool:
    """Boxes lose some of their score, where sigma is given."""
    names = [a.name for a in case.call.op.signature.inputs]
    return "soft_nms_sigma" in names and bool(
        np.ravel(case.call.inputs[names.index("soft_nms_sigma")])[0] > 0
    )


def _has_blank_labels(case: Case) -> bool:
    """The last class is the blank."""
    scores, _, labels = case.call.inputs[:3]
    return bool((labels >= scores.shape[-1] - 1).any())


def _has_mixed_types(case: Case) -> bool:
    """The threshold has another type than the numbers."""
    return len({x.dtype for i, _, x in case.call.arrays() if not case.call.is_index(i)}) > 1


def _turns_far(case: Case) -> bool:
    return any(x.size == 1 and (np.abs(x) > 1).any() for x in case.numbers())


def _has_surrogates(case: Case) -> bool:
    """Halves of characters, or what is no character."""
    first = next(case.call.arrays())[2]
    return bool((((first >= 0xD800) & (first < 0xE000)) | (first < 0) | (first > 0x10FFFF)).any())


def _is_no_text(case: Case) -> bool:
    """Bytes that are no UTF-8, or hold a NUL."""
    words = [w for _, _, x in case.call.arrays() if x.dtype == object for w in x.ravel().tolist()]
    return any(b"\0" in w or w.decode("utf-8", "replace").encode() != w for w in words)


def _is_no_ascii(case: Case) -> bool:
    words = [w for _, _, x in case.call.arrays() if x.dtype == object for w in x.ravel().tolist()]
    return any(max(w, default=0) > 127 for w in words)


def _is_short(case: Case) -> bool:
    """A sequence that ends before its array does: seq_len_max."""
    length, x = case.call.inputs[:2]
    return int(length) < len(x)


def _has_crossed_range(case: Case) -> bool:
    """A minimum that is not below the maximum given with it."""
    names = [a.name for a in case.call.op.signature.inputs]
    for low in (n for n in names if "min" in n):
        high = low.replace("min", "max")
        if high in names:
            a, b = (np.asarray(case.call.inputs[names.index(n)]) for n in (low, high))
            if a.shape != b.shape or not (a < b).all():
                return True
    return False


# -- how the answers differ ----------------------------------------------------------------------
def _pair(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    x, y = case.difference.found, case.difference.wanted
    if x is None or y is None or x.shape != y.shape or x.dtype != y.dtype or x.dtype.kind not in "fciuV":
        return None
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return x.astype(wide), y.astype(wide)


def _is_at_places(case: Case) -> bool:
    """Only where one of the answers is not finite."""
    pair = _pair(case)
    if pair is None:
        return False
    x, y = pair
    both = np.isfinite(x) & np.isfinite(y)
    return bool(np.allclose(x[both], y[both], 1e-2, 1e-2 * _sizes(y[both]).max(initial=0.0)))


def _is_tf_strange(case: Case) -> bool:
    """Our answer is finite where TensorFlow's is not."""
    pair = _pair(case)
    return pair is not None and _is_at_places(case) and bool(np.isfinite(pair[0]).all())


def _is_tf_nothing(case: Case) -> bool:
    """TensorFlow's answer is 0 wherever it differs."""
    pair = _pair(case)
    if pair is None:
        return False
    return bool((np.isclose(*pair, rtol=2e-5, equal_nan=True) | (pair[1] == 0)).all())


def _is_of_single_precision(case: Case) -> bool:
    pair = _pair(case)
    if pair is None:
        return False
    x, y = pair
    largest = _sizes(y[np.isfinite(y)]).max(initial=0.0)
    return bool(np.allclose(x, y, 2e-6, 2e-6 * largest, equal_nan=True))


def _is_one_step(case: Case) -> bool:
    """One apart, of integers; of quantized numbers, everywhere the same step apart."""
    pair, found = _pair(case), case.difference.found
    if pair is None or found is None:
        return False
    far = np.abs(pair[0] - pair[1])
    if found.dtype.kind in "iu":
        return bool((far <= 1).all())
    far = far[far > 1e-3 * far.max(initial=0.0)]
    return bool(np.isfinite(far).all() and np.allclose(far, far[:1], 1e-2))


def _is_below_normal(case: Case) -> bool:
    """Everywhere by less than the least normal number: processors may take these for zeros."""
    pair, found = _pair(case), case.difference.found
    if pair is None or found is None or found.dtype.kind not in "fcV":
        return False
    least = float(as_dtype(found.real.dtype if found.dtype.kind == "c" else found.dtype).max) ** -1
    with np.errstate(invalid="ignore"):
        far = np.abs(pair[0] - pair[1])
    return bool((far[~(np.isnan(pair[0]) & np.isnan(pair[1])) & (pair[0] != pair[1])] < 8 * least).all())


def _is_near_zero(case: Case) -> bool:
    """By what rounding leaves of a difference of two numbers near one."""
    pair, found = _pair(case), case.difference.found
    if pair is None or found is None or found.dtype.kind != "f":
        return False
    return bool((np.abs(pair[0] - pair[1]) < 4 * np.finfo(found.dtype).eps).all())


def _both_broadcast(case: Case) -> bool:
    """Two inputs, neither of which has the shape of the result."""
    a, b = (np.shape(x) for x in case.call.inputs[:2])
    return np.broadcast_shapes(a, b) not in (a, b)


def _has_other_signs(case: Case) -> bool:
    """The same numbers but for a factor of magnitude one."""
    pair = _pair(case)
    return pair is not None and bool(np.allclose(_sizes(pair[0]), _sizes(pair[1]), 1e-3, 1e-3))


def _has_the_same_first_rows(case: Case) -> bool:
    """The first row of each matrix: of eigenvectors below their values, the values."""
    pair = _pair(case)
    return pair is not None and bool(np.allclose(pair[0][..., 0, :], pair[1][..., 0, :], 1e-3, 1e-3))


def _has_other_shape(case: Case) -> bool:
    x, y = case.difference.found, case.difference.wanted
    return x is not None and y is not None and x.shape != y.shape


CONDITIONS: dict[str, Callable[[Case], bool]] = {
    "nan": _has_nan,
    "not finite": _is_not_finite,
    "extreme": _is_extreme,
    "steep": _is_steep,
    "below zero": _is_below_zero,
    "narrow": _is_narrow,
    "empty": _is_empty,
    "complex": _is_complex,
    "half": _is_half,
    "float64": _is_double,
    "integers": _is_integer,
    "hidden shapes": lambda case: case.call.is_hidden,
    "disordered": _is_disordered,
    "repeated": _has_repeated_rows,
    "disordered values": _has_disordered_rows,
    "outside": _leaves_its_shape,
    "several images": _has_several_images,
    "channels first": _is_channels_first,
    "dilated": _is_dilated,
    "grouped": _is_grouped,
    "singular": _is_singular,
    "ties": _has_ties,
    "overlap as allowed": _overlaps_as_allowed,
    "other length": _has_other_length,
    "soft": _is_soft,
    "blank labels": _has_blank_labels,
    "mixed types": _has_mixed_types,
    "far turn": _turns_far,
    "surrogates": _has_surrogates,
    "no text": _is_no_text,
    "no ASCII": _is_no_ascii,
    "short": _is_short,
    "crossed range": _has_crossed_range,
    "TF refuses": lambda case: case.difference.refusals[1] != "",
    "places": _is_at_places,
    "TF nothing": _is_tf_nothing,
    "TF strange": _is_tf_strange,
    "single precision": _is_of_single_precision,
    "below normal": _is_below_normal,
    "near zero": _is_near_zero,
    "both broadcast": _both_broadcast,
    "one step": _is_one_step,
    "signs": _has_other_signs,
    "first rows": _has_the_same_first_rows,
    "empty answer": lambda case: case.difference.found is not None and not case.difference.found.size,
    "shape": _has_other_shape,
}
