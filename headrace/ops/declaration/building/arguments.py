"""Python arguments of an op -> its input tensors, their types, and the attributes that follow from them.

Messages follow TF's: its users and tests match them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building.attr_values import convert_attr
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.signature import REQUIRED, Arg, Attr


def convert_inputs(op: Op, values: dict[str, Any], attrs: dict[str, Any]) -> tuple[list[Tensor], list[DType]]:
    """Tensors and declared types, one per input; what follows from them is added to `attrs`."""
    inputs: list[Tensor] = []
    types: list[DType] = []
    inferred_from: dict[str, str] = {}
    for name in op.signature.inferred:
        if values.get(name) is not None:
            attrs[name] = convert_attr(op, name, op.signature.attrs[name], values[name])
    for arg in op.signature.inputs:
        if arg.name not in values:
            raise TypeError(f"No argument for input {arg.name}")
        if arg.is_list:
            tensors = _convert_list(op, arg, values[arg.name], attrs)
        else:
            tensors = [_convert_one(op, arg, values, attrs, inferred_from)]
        _infer(op, arg, tensors, attrs, inferred_from)
        inputs += tensors
        types += [t.dtype if arg.is_ref else t.dtype.base for t in tensors]
    return inputs, types


def _convert_one(
    op: Op, arg: Arg, values: dict[str, Any], attrs: dict[str, Any], inferred_from: dict[str, str]
) -> Tensor:
    value, expected, preferred = values[arg.name], arg.dtype, None
    if arg.type_attr is not None:
        expected = attrs.get(arg.type_attr)
        default = op.signature.attrs[arg.type_attr].default
        if expected is None and default is not REQUIRED:
            preferred = _type_beside(op, arg, values) or default
    try:
        tensor = convert_to_tensor(
            value, expected, name=arg.name, as_ref=arg.is_ref, preferred_dtype=preferred
        )
    except TypeError as error:
        if expected is None:
            raise
        raise _mismatch(op, arg, value, expected, inferred_from, error) from None
    except ValueError as error:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"Tried to convert '{arg.name}' to a tensor and failed. Error: {error}"
            ) from None
        if expected is None or value.dtype.base == expected:  # it can not be captured
            raise
        raise _mismatch(op, arg, value, expected, inferred_from, error) from None
    if expected is not None and tensor.dtype.base is not expected.base:
        raise _mismatch(op, arg, tensor, expected, inferred_from, None)
    return tensor


def _type_beside(op: Op, arg: Arg, values: dict[str, Any]) -> DType | None:
    """The type of a tensor among the other arguments that must have this one's type: a plain number fits
    either.  (TF 1.15 takes the attribute's default and then refuses the tensor; later versions do not.)"""
    for other in op.signature.inputs:
        given = values.get(other.name)
        if other.type_attr == arg.type_attr and isinstance(given, Tensor):
            own = getattr(values[arg.name], "dtype", given.dtype.base)
            return given.dtype.base if own == given.dtype.base else None
    return None


def _mismatch(
    op: Op, arg: Arg, value: Any, expected: DType, inferred_from: dict[str, str], error: Any
) -> TypeError:
    if isinstance(value, Tensor) or (hasattr(value, "dtype") and not isinstance(value, np.ndarray)):
        observed = as_dtype(value.dtype).base.name
    else:
        try:
            observed = convert_to_tensor(value, name=arg.name).dtype.base.name
        except (TypeError, ValueError) as other:
            return TypeError(f"Tried to convert '{arg.name}' to a tensor and failed. Error: {other}")
    prefix = f"Input '{arg.name}' of '{op.name}' Op has type {observed} that does not match"
    if arg.type_attr is not None and arg.type_attr in inferred_from:
        source = inferred_from[arg.type_attr]
        return TypeError(f"{prefix} type {expected.name} of argument '{source}'.")
    return TypeError(f"{prefix} expected type of {expected.name}.")


def _convert_list(op: Op, arg: Arg, value: Any, attrs: dict[str, Any]) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{op.name}' Op, not {value}.")
    wanted: list[Any] = [None] * len(value)
    if arg.dtype is not None:
        wanted = [arg.dtype] * len(value)
    elif arg.type_attr is not None:
        wanted = [_common_type(arg, value, attrs)] * len(value)
    elif arg.list_attr in attrs and len(attrs[arg.list_attr]) == len(value):
        wanted = list(attrs[arg.list_attr])
    try:
        tensors = [
            convert_to_tensor(v, w, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
            for i, (v, w) in enumerate(zip(value, wanted))
        ]
    except (TypeError, ValueError):
        found = _list_types(arg, value)
        prefix = f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types {found}"
        if arg.list_attr is not None:
            raise TypeError(f"{prefix} that are invalid.") from None
        if wanted and wanted[0] is not None and arg.dtype is None:
            raise TypeError(f"{prefix} that don't all match.") from None
        raise TypeError(f"{prefix} that do not match expected type.") from None
    kinds = {t.dtype.base for t in tensors}
    if arg.type_attr is not None and len(kinds) > 1:
        found = _list_types(arg, tensors)
        raise TypeError(
            f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types {found} that "
            "don't all match."
        )
    return tensors


def _list_types(arg: Arg, values: Sequence[Any]) -> str:
    names = []
    for value in values:
        try:
            names.append(convert_to_tensor(value, name=arg.name).dtype.base.name)
        except (TypeError, ValueError):
            names.append("<NOT CONVERTIBLE TO TENSOR>")
    return "[" + ", ".join(names) + "]"


def _common_type(arg: Arg, values: Sequence[Any], attrs: dict[str, Any]) -> DType | None:
    """The type that a list of values converts to: known already, or that of its first tensor."""
    if arg.type_attr in attrs:
        return attrs[arg.type_attr]
    for value in values:
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            return as_dtype(value.dtype).base
    for value in values:
        if isinstance(value, (list, tuple)):
            nested = _common_type(arg, value, {})
            if nested is not None:
                return nested
    if values:
        return convert_to_tensor(values[0], name=f"{arg.name}_0").dtype.base if not _plain(values) else None
    return None


def _plain(values: Sequence[Any]) -> bool:
    return len({type(v) for v in values}) == 1


def _infer(
    op: Op, arg: Arg, tensors: list[Tensor], attrs: dict[str, Any], inferred_from: dict[str, str]
) -> None:
    """Attributes that follow from an argument: its type, its types, how many there are."""
    specs = op.signature.attrs
    if arg.number_attr is not None:
        count = len(tensors)
        if attrs.setdefault(arg.number_attr, count) != count:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {count} must match "
                f"length {attrs[arg.number_attr]} of argument '{inferred_from.get(arg.number_attr)}'."
            )
        inferred_from.setdefault(arg.number_attr, arg.name)
        minimum = specs[arg.number_attr].min
        if minimum is not None and count < minimum:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {count} shorter than "
                f"minimum length {minimum}."
            )
    if arg.list_attr is not None:
        found = tuple(t.dtype.base for t in tensors)
        if attrs.setdefault(arg.list_attr, found) != found:
            raise TypeError(
                f"Input '{arg.name}' of '{op.name}' Op has type list of {', '.join(d.name for d in found)} "
                f"that does not match type list {', '.join(d.name for d in attrs[arg.list_attr])} of "
                f"argument '{inferred_from.get(arg.list_attr, arg.list_attr)}'."
            )
        inferred_from.setdefault(arg.list_attr, arg.name)
        minimum = specs[arg.list_attr].min
        if minimum is not None and len(found) < minimum:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {len(found)} shorter "
                f"than minimum length {minimum}."
            )
        for dtype in found:
            _check_allowed(op, arg.name, specs[arg.list_attr], dtype)
    if arg.type_attr is not None:
        if arg.type_attr not in attrs:
            if tensors:
                attrs[arg.type_attr] = tensors[0].dtype.base
                inferred_from[arg.type_attr] = arg.name
            elif specs[arg.type_attr].default is not REQUIRED:
                attrs[arg.type_attr] = specs[arg.type_attr].default
            else:
                raise TypeError(
                    f"Don't know how to infer type variable from empty input list passed to input "
                    f"'{arg.name}' of '{op.name}' Op."
                )
        _check_allowed(op, arg.name, specs[arg.type_attr], attrs[arg.type_attr])


def _check_allowed(op: Op, argument: str, spec: Attr, dtype: DType) -> None:
    if spec.allowed is not None and dtype.base not in spec.allowed:
        names = ", ".join(sorted(d.name for d in spec.allowed))
        raise TypeError(
            f"Value passed to parameter '{argument}' has DataType {dtype.base.name} not in list of "
            f"allowed values: {names}"
        )
