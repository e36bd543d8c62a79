"""Ops that use tables: look-ups, insertions, export and import, initialisation."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import resource, string
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.core.text import as_bytes
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.shape_rules import require_rank, scalar
from headrace.ops.declaration.signature import Int, Type
from headrace.ops.declaration.traits import FILES, MOVES, READS, STATEFUL, WRITES
from headrace.ops.lookup import vocabulary_file
from headrace.ops.lookup.make_table import TABLE, contents
from headrace.ops.lookup.table import Table
from headrace.ops.queues.queue import referenced


# -- shapes ---------------------------------------------------------------------------------------
def _check_handle(table_handle):
    if table_handle.dtype.base is resource:
        require_rank(table_handle, 0)
    else:
        require_rank(table_handle, 1)
        size = table_handle.dim(0)
        require(size in (None, 2), f"Dimension must be 2 but is {size}")


def _known(table_handle, key_dtype, value_dtype):
    """What is known of the table behind a handle; the types must fit."""
    held = contents(table_handle.node) if table_handle.dtype.base is resource else None
    if held is not None:
        for found, wanted in ((held[0], key_dtype), (held[1], value_dtype)):
            require(
                found is wanted,
                "Trying to read value with wrong dtype. "
                f"Expected {_type_name(found)} got {_type_name(wanted)}",
            )
    return held


def _type_name(dtype):
    """As messages of TensorFlow's runtime call a type."""
    plain = {"float32": "float", "float64": "double"}.get(dtype.base.name, dtype.base.name)
    return f"{plain}_ref" if dtype.is_ref else plain


def _find_shape(table_handle, keys, default_value, *, Tin, Tout):
    _check_handle(table_handle)
    require(
        default_value.rank is None or default_value.rank < 2,
        f"Shape must be at most rank 1 but is rank {default_value.rank}",
    )
    held = _known(table_handle, Tin, Tout)
    if held is None or held[2].rank is None or keys.rank is None:
        return UNKNOWN
    _, _, key_shape, value_shape = held
    require(
        keys.rank >= key_shape.rank,
        f"Expected keys to have suffix {show(key_shape)} but saw shape: {show(keys)}",
    )
    split = keys.rank - key_shape.rank
    make_shape(keys.sizes[split:]).merge_with(key_shape)
    return make_shape(keys.sizes[:split]).concatenate(value_shape)


def _export_shape(table_handle, *, Tkeys, Tvalues):
    _check_handle(table_handle)
    if table_handle.dtype.base is not resource:
        return [Shape.of(None), UNKNOWN]
    held = _known(table_handle, Tkeys, Tvalues)
    return [Shape.of(None), UNKNOWN if held is None else Shape.of(None).concatenate(held[3])]


def _pairs_shape(table_handle, keys, values):
    _check_handle(table_handle)
    require_rank(keys, 1)
    keys.merge_with(values.plain())
    return []


def _import_shape(table_handle, keys, values):
    if table_handle.dtype.base is resource:
        return _pairs_shape(table_handle, keys, values)
    _check_handle(table_handle)
    return []


def _remove_shape(table_handle, keys):
    _check_handle(table_handle)
    require(keys.rank is None or keys.rank >= 1, f"Shape must be at least rank 1 but is rank {keys.rank}")
    return []


def _insert_shape(table_handle, keys, values):
    _check_handle(table_handle)
    return []


def _size_shape(table_handle):
    _check_handle(table_handle)
    return scalar()


def _file_shape(table_handle, filename):
    _check_handle(table_handle)
    require_rank(filename, 0)
    return []


# -- meanings -------------------------------------------------------------------------------------
def _check_types(ctx, table, given, outputs=()):
    """The node's types must be the table's."""
    node = ctx.node
    first = resource if node.op.name.endswith("V2") else string.as_ref
    expected = (first, *(table.key_dtype, table.value_dtype)[: len(given)])
    wanted = tuple(table.value_dtype for _ in outputs)
    if (first, *given) != expected or tuple(outputs) != wanted:
        raise InvalidArgumentError(
            None,
            None,
            f"Signature mismatch, have: {_types((first, *given))}->{_types(outputs)} "
            f"expected: {_types(expected)}->{_types(wanted)}",
        )


def _types(types):
    return ", ".join(map(_type_name, types))


def _find(ctx, table, keys, default_value, Tin, Tout):
    _check_types(ctx, table, (Tin, Tout), (Tout,))
    return table.find(keys, default_value)


def _insert(ctx, table, keys, values, Tin, Tout):
    _check_types(ctx, table, (Tin, Tout))
    table.insert(keys, values)
    return ()


def _import(ctx, table, keys, values, Tin, Tout):
    _check_types(ctx, table, (Tin, Tout))
    table.replace(keys, values)
    return ()


def _remove(ctx, table, keys, Tin):
    _check_types(ctx, table, (Tin,))
    table.remove(keys)
    return ()


def _export(ctx, table, Tkeys, Tvalues):
    for wanted, held in ((Tkeys, table.key_dtype), (Tvalues, table.value_dtype)):
        require(wanted is held, f"Expected a table of {_type_name(wanted)}, but it has {_type_name(held)}")
    return table.export()


def _size(ctx, table):
    return np.array(len(table), np.int64)


def _static(ctx, table):
    require(table.is_static, f"Table {ctx.node.name} is not initializable")
    return table


def _initialize(ctx, table, keys, values, Tkey, Tval):
    _static(ctx, table)
    _check_types(ctx, table, (Tkey, Tval))
    require(keys.ndim == 1, f"Keys must be a vector, but received shape{show(keys.shape)}")
    require(values.ndim == 1, f"Values must be a vector, but received shape{show(values.shape)}")
    require(keys.size == values.size, f"Keys and values must have the same size {keys.size} vs {values.size}")
    table.initialize(keys, values)
    return ()


def _initialize_from_file(ctx, table, filename, key_index, value_index, vocab_size, delimiter):
    _static(ctx, table)
    require(filename.ndim == 0, f"filename should be a single string, but got {show(filename.shape)}")
    separator = as_bytes(delimiter)
    require(len(separator) == 1, "delimiter should be only 1 char")
    path = filename.item()
    require(path, "filename cannot be empty.")
    if not table.is_initialized:
        key, value = (key_index, table.key_dtype), (value_index, table.value_dtype)
        table.initialize(*vocabulary_file.read(path, vocab_size, separator, key, value))
    return ()


# -- the ops ----------------------------------------------------------------------------------------
def _with_handle(use):
    def body(ctx, table_handle, *inputs, **given):
        return use(ctx, table_handle.get(Table), *inputs, **given)

    return body


def _with_reference(use):
    def body(ctx, table_handle, *inputs, **given):
        return use(ctx, referenced(ctx, table_handle, TABLE), *inputs, **given)

    return body


def _declare(name, rest, use, attrs, shape, traits, doc):
    """The op that takes a handle, and the older one."""
    made = []
    for version, kind, body in (
        ("V2", "resource", _with_handle(use)),
        ("", "Ref(string)", _with_reference(use)),
    ):
        body.__doc__, body.__module__ = doc, __name__
        stateful = {STATEFUL} if version else set()
        declared = op(
            name + version, f"table_handle: {kind}{rest}", attrs=attrs, traits=traits | stateful, shape=shape
        )(body)
        declared.no_gradient()
        made.append(declared)
    return made


_TYPES = {"Tin": Type(), "Tout": Type()}

lookup_table_find_v2, lookup_table_find = _declare(
    "LookupTableFind",
    ", keys: Tin, default_value: Tout -> values: Tout",
    _find,
    _TYPES,
    _find_shape,
    {READS, MOVES},
    "The value of every key, `default_value` where there is none.",
)
lookup_table_insert_v2, lookup_table_insert = _declare(
    "LookupTableInsert",
    ", keys: Tin, values: Tout ->",
    _insert,
    _TYPES,
    _insert_shape,
    {WRITES},
    "Give keys their values, new ones or others.",
)
lookup_table_import_v2, lookup_table_import = _declare(
    "LookupTableImport",
    ", keys: Tin, values: Tout ->",
    _import,
    _TYPES,
    _import_shape,
    {WRITES},
    "Forget everything that the table holds, and take these keys and values.",
)
lookup_table_export_v2, lookup_table_export = _declare(
    "LookupTableExport",
    " -> keys: Tkeys, values: Tvalues",
    _export,
    {"Tkeys": Type(), "Tvalues": Type()},
    _export_shape,
    {READS},
    "All keys, and their values.",
)
lookup_table_size_v2, lookup_table_size = _declare(
    "LookupTableSize", " -> size: int64", _size, {}, _size_shape, {READS}, "How many keys the table has."
)
initialize_table_v2, initialize_table = _declare(
    "InitializeTable",
    ", keys: Tkey, values: Tval ->",
    _initialize,
    {"Tkey": Type(), "Tval": Type()},
    _pairs_shape,
    {WRITES},
    "Give a table that does not change its keys and values.",
)
initialize_table_from_text_file_v2, initialize_table_from_text_file = _declare(
    "InitializeTableFromTextFile",
    ", filename: string ->",
    _initialize_from_file,
    {
        "key_index": Int(min=-2),
        "value_index": Int(min=-2),
        "vocab_size": Int(default=-1, min=-1),
        "delimiter": "\t",
    },
    _file_shape,
    {WRITES, FILES},
    "Give a table that does not change its keys and values: one of each per line of a file.",
)


@op(
    "LookupTableRemoveV2",
    "table_handle: resource, keys: Tin ->",
    Tin=Type(),
    traits={STATEFUL, WRITES},
    shape=_remove_shape,
)
def lookup_table_remove_v2(ctx, table_handle, keys, *, Tin):
    """Take keys and their values out of the table; those that are absent are ignored."""
    return _remove(ctx, table_handle.get(Table), keys, Tin)
