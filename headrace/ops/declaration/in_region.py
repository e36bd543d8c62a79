"""What an op does with arrays and stacks that live inside of one compiled program.

Such an array is created, used and forgotten between the inputs and the outputs of a region: its handle
never becomes a value, and its cells are plain memory.  A compiled rule (`lower`) sees the operands of one
node and cannot know this; so the op's block says which of the following it is, and codegen, which sees the
region, does it.

    tensor_array_write_v3.in_region(InRegion.WRITE)

The sentence of a member is the contract: inputs and outputs in this order, attributes under these names.
"""

from __future__ import annotations

from enum import Enum


class InRegion(Enum):
    # -- tensor arrays: `flow` is a number that orders effects -----------------------------------
    CREATE_ARRAY = "(size) -> handle, flow: an array of cells of `dtype`, as its other attributes say"
    GRADIENT = "(handle, flow) -> handle, flow: the array of gradients of an array, one for each `source`"
    WRITE = "(handle, index, value, flow) -> flow: a cell gets a value; of an array of gradients, more"
    READ = "(handle, index, flow) -> value: what is in a cell"
    GATHER = "(handle, indices, flow) -> value: the cells at `indices`, stacked"
    SCATTER = "(handle, indices, value, flow) -> flow: the rows of a value, to the cells at `indices`"
    CONCAT = "(handle, flow) -> value, lengths: all cells one after the other"
    SPLIT = "(handle, value, lengths, flow) -> flow: the rows of a value, `lengths[i]` of them to cell i"
    SIZE = "(handle, flow) -> size: how many cells there are"
    CLOSE = "(handle): the array is not used any more"
    # -- stacks ----------------------------------------------------------------------------------
    CREATE_STACK = "(max_size) -> handle: a stack of values of `elem_type`"
    PUSH = "(handle, value) -> value"
    POP = "(handle) -> value: the one that was pushed last"
    # -- rows ------------------------------------------------------------------------------------
    DISTINCT = "(x) -> y, idx: the different elements of x, and for each of x its place among them"

    __hash__ = object.__hash__  # there is one of each
