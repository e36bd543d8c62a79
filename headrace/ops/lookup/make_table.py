"""Ops that make tables, or find the table of a name that is shared.

The ops whose names end in V2 give a handle; the older ones a reference to the table's name.
"""

from __future__ import annotations

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import Shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import ShapeAttr, Type
from headrace.ops.declaration.traits import MOVES, READS, STATEFUL
from headrace.ops.lookup.dense_table import DenseTable
from headrace.ops.lookup.table import TYPES, StaticTable, Table
from headrace.ops.queues.queue import reference_to

TABLE = "table"


def _found(ctx, make, container, shared_name, key_dtype, value_dtype):
    """The table of a node: a new one, or that of its shared name if its types are the same."""
    name = shared_name or ctx.node.name
    there = ctx.resources.find(container, TABLE, name)
    if there is not None and there.key_dtype is key_dtype and there.value_dtype is value_dtype:
        return there, name
    require(
        value_dtype in TYPES.get(key_dtype, ()),
        f"No OpKernel was registered to support Op '{ctx.node.op.name}' with these attrs: "
        f"[key_dtype={key_dtype.name}, value_dtype={value_dtype.name}]",
    )
    table = ctx.resources.get_or_make(container, TABLE, name, make)
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype):
        raise InvalidArgumentError(
            None,
            None,
            f"Conflicting key/value dtypes {key_dtype.name}->{value_dtype.name} with "
            f"{table.key_dtype.name}-{table.value_dtype.name} for table {name}",
        )
    return table, name


def _declare(name, inputs, older_inputs, make, attrs, shape, older_shape, doc):
    """The op that gives a handle, and the older one; `make` gets the inputs and other attributes."""

    def found(ctx, inputs, container, shared_name, key_dtype, value_dtype, given):
        build = lambda: make(*inputs, key_dtype=key_dtype, value_dtype=value_dtype, **given)
        return _found(ctx, build, container, shared_name, key_dtype, value_dtype)

    def with_handle(
        ctx, *inputs, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, **given
    ):
        table, name = found(ctx, inputs, container, shared_name, key_dtype, value_dtype, given)
        return Handle(container, name, TABLE, ctx.node.device, table)

    def with_reference(
        ctx, *inputs, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, **given
    ):
        _, name = found(ctx, inputs, container, shared_name, key_dtype, value_dtype, given)
        return reference_to(container, name)

    for body in (with_handle, with_reference):
        body.__doc__, body.__module__ = doc, __name__
    attrs = _COMMON | attrs
    new = op(
        f"{name}V2",
        f"{inputs} -> table_handle: resource",
        attrs=attrs,
        traits={STATEFUL, READS, MOVES},
        shape=shape,
    )(with_handle)
    old = op(
        name,
        f"{older_inputs} -> table_handle: Ref(string)",
        attrs=attrs,
        traits={STATEFUL, READS, MOVES},
        shape=older_shape,
    )(with_reference)
    new.no_gradient()
    old.no_gradient()
    return new, old


_COMMON = {
    "container": "",
    "shared_name": "",
    "use_node_name_sharing": False,
    "key_dtype": Type(),
    "value_dtype": Type(),
}
_VECTORS = {"value_shape": ShapeAttr(default=[])}
_DENSE = _VECTORS | {"initial_num_buckets": 131072, "max_load_factor": 0.800000011920929}


def _two():
    return Shape.of(2)


def _sizes(value_shape, found):
    require(value_shape.is_full, f"{found}, got shape {show(value_shape)}")
    return tuple(value_shape.sizes)


def _static(key_dtype, value_dtype):
    return StaticTable(key_dtype, value_dtype)


def _mutable(key_dtype, value_dtype):
    return Table(key_dtype, value_dtype)


def _of_tensors(key_dtype, value_dtype, value_shape):
    wanted = "Default value must be a vector"
    require(value_shape.rank == 1, f"{wanted}, got shape {show(value_shape)}")
    return Table(key_dtype, value_dtype, (), _sizes(value_shape, wanted))


def _dense(
    empty_key, deleted_key=None, *, key_dtype, value_dtype, value_shape, initial_num_buckets, max_load_factor
):
    sizes = _sizes(value_shape, "Empty value must be a scalar or a vector")
    return DenseTable(
        value_dtype, sizes, key_dtype, empty_key, deleted_key, initial_num_buckets, max_load_factor
    )


def _dense_shape(empty_key, deleted_key):
    require(
        empty_key.rank is None or empty_key.rank < 2,
        f"Shape must be at most rank 1 but is rank {empty_key.rank}",
    )
    return scalar()


def _one_input(empty_key):
    return Shape.of(2)


hash_table_v2, hash_table = _declare(
    "HashTable", "", "", _static, {}, scalar, _two, "A table that is initialised once."
)
mutable_hash_table_v2, mutable_hash_table = _declare(
    "MutableHashTable", "", "", _mutable, {}, scalar, _two, "A table whose values are single elements."
)
mutable_hash_table_of_tensors_v2, mutable_hash_table_of_tensors = _declare(
    "MutableHashTableOfTensors",
    "",
    "",
    _of_tensors,
    _VECTORS,
    scalar,
    _two,
    "A table whose values are vectors.",
)
mutable_dense_hash_table_v2, mutable_dense_hash_table = _declare(
    "MutableDenseHashTable",
    "empty_key: key_dtype, deleted_key: key_dtype",
    "empty_key: key_dtype",
    _dense,
    _DENSE,
    _dense_shape,
    _one_input,
    "A table whose keys and values are single elements or vectors, exported as a table of buckets.",
)


def contents(node):
    """What a node that makes a changing table says of it: types of keys and values, shapes of one key and of
    one value; None of other nodes."""
    attrs = node.attrs
    types = attrs.get("key_dtype"), attrs.get("value_dtype")
    if node.declaration is mutable_hash_table_v2:
        return (*types, Shape.of(), Shape.of())
    if node.declaration is mutable_hash_table_of_tensors_v2:
        return (*types, Shape.of(), attrs["value_shape"])
    if node.declaration is mutable_dense_hash_table_v2:
        return (*types, node.inputs[0].shape, attrs["value_shape"])
    return None
