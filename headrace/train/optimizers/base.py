"""Optimizer: computes gradients, keeps slots, applies updates.  Optimizers of users derive from it
and override `_apply_dense`, `_apply_sparse`, `_resource_apply_dense`, `_resource_apply_sparse`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.autodiff.missing import why
from headrace.autodiff.tape import GradientTape
from headrace.core import dtypes
from headrace.core.errors import hinted
from headrace.core.modules import late
from headrace.functions.array.array import shape
from headrace.functions.control.grouping import group, tuple_
from headrace.functions.control.init_scope import init_scope
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.state import state
from headrace.train.optimizers import slots
from headrace.train.optimizers.rule import RuleUpdates
from headrace.variables.listing import trainable_variables
from headrace.variables.resource_base import BaseResourceVariable, is_resource_variable
from headrace.variables.variable import Variable

segment = late("headrace.ops.array.indexing.segment")
unique_ops = late("headrace.ops.array.unique")


def deduplicated(values: Any, indices: Any) -> tuple[Any, Any]:
    """Rows of equal indices summed: (values, indices)."""
    distinct, places = unique_ops.unique(indices)
    rows: Any = shape(distinct)
    return segment.unsorted_segment_sum(values, places, rows[0]), distinct


def _key(variable: Any) -> Any:
    graph = variable.op.graph
    # Names are not made unique in eager mode.
    return graph, id(variable) if graph.runs_at_once else variable.op.name


def _target(variable: Any) -> Any:
    """What the gradient is taken by."""
    if is_resource_variable(variable) or isinstance(variable, Tensor):
        return variable
    if isinstance(variable, Variable):
        return variable._ref()  # type: ignore[attr-defined]
    raise NotImplementedError("Trying to optimize unsupported type ", variable)


class Optimizer(RuleUpdates):
    """What all optimizers share.

    `minimize` is `compute_gradients` followed by `apply_gradients`; call these two yourself to
    change the gradients in between.

    Example:
      >>> optimizer = tf.train.GradientDescentOptimizer(0.1)
      >>> pairs = optimizer.compute_gradients(loss)
      >>> train = optimizer.apply_gradients([(tf.clip_by_norm(g, 5.0), v) for g, v in pairs])
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool, name: str) -> None:
        """Called by subclasses.

        Args:
          use_locking: kept for compatibility; updates are always atomic here.
          name: name of the optimizer's slots and scope.

        Raises:
          ValueError: the name is empty.
        """
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}

    def get_name(self) -> str:
        return self._name

    # -- the two halves of a step -------------------------------------------------------------
    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """A node that updates variables so that `loss` gets smaller.

        Args:
          loss: a scalar tensor.
          global_step: a variable to add 1 to after the update.
          var_list: variables to update; default those in `GraphKeys.TRAINABLE_VARIABLES`.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH: what must be computed before gradients
            are used.
          aggregation_method: how gradients are summed.
          colocate_gradients_with_ops: put gradients where their ops are.
          name: name of the node.
          grad_loss: gradient of what is really minimised by `loss`.

        Returns:
          A node; it adds to `global_step` if that was given.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(g is None for g, _ in pairs):
            raise ValueError(
                hinted(
                    "No gradients provided for any variable, check your graph for ops that do not "
                    f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                    f"{loss}.",
                    None if callable(loss) else why(loss, pairs[0][1]),
                )
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of `loss` by the variables: the first half of `minimize`.

        Args: as for `minimize`.

        Returns:
          (gradient, variable) pairs; the gradient is a tensor, IndexedSlices, or None.

        Raises:
          TypeError: `var_list` holds something else than variables.
          ValueError: an argument is not valid.
        """
        if get_default_graph().runs_at_once:
            return self._gradients_at_once(loss, var_list, grad_loss)
        if callable(loss):
            loss = loss()
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = get_default_graph()
        if var_list is None:
            variables = trainable_variables()
            variables += graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = list(nest.flatten(var_list))
        variables += graph.get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        targets = [_target(v) for v in variables]
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            found = tuple_(found)
        pairs = list(zip(found, variables))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != dtypes.resource])
        return pairs

    def _gradients_at_once(self, loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
        """In eager mode the loss is a function, and a tape sees which variables it reads."""
        if not callable(loss):
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution "
                "is enabled."
            )
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
        variables = tape.watched_variables() if var_list is None else nest.flatten(var_list)
        variables = sorted(variables, key=lambda v: v._creation_number) if var_list is None else variables
        pairs = list(zip(tape.gradient(value, list(variables), grad_loss), variables))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype != dtypes.resource])
        return pairs

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """A node that applies gradients: the second half of `minimize`.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them.
          global_step: a variable to add 1 to after the update.
          name: name of the node; default the optimizer's.

        Returns:
          A node.

        Raises:
          TypeError: a gradient is not a tensor, IndexedSlices or None.
          ValueError: there are no variables, or no gradients.
        """
        pairs = [(_checked(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        variables = [v for g, v in pairs if g is not None]
        if not variables:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        with init_scope():
            self._create_slots(variables)
        graph = get_default_graph()
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for g, v in pairs:
                if g is not None:
                    with graph.name_scope("update_" + v.op.name), graph.colocate_with(v.op):
                        updates.append(self._update(g, v))
            done = self._with_global_step(updates, global_step, scope)
        train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if done not in train_ops:
            train_ops.append(done)
        return done

    def _update(self, gradient: Any, variable: Any) -> Any:
        """The node that updates one variable, then its constraint."""
        is_sparse = isinstance(gradient, IndexedSlices)
        if isinstance(variable, Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        if is_sparse and variable.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        if is_resource_variable(variable):
            if is_sparse:
                return self._resource_apply_sparse_duplicate_indices(
                    gradient.values, variable, gradient.indices
                )
            done = self._resource_apply_dense(gradient, variable)
        elif is_sparse:
            return self._apply_sparse_duplicate_indices(gradient, variable)
        else:
            done = self._apply_dense(gradient, variable)
        if variable.constraint is None:
            return done
        with get_default_graph().control_dependencies([done]):
            # Read again: the value that the gradient was taken at is from before the update.
            return variable.assign(variable.constraint(variable.read_value()))

    def _with_global_step(self, updates: list[Any], global_step: Any, scope: str) -> Any:
        if global_step is None:
            done = self._finish(updates, scope)
        else:
            graph = get_default_graph()
            with graph.control_dependencies([self._finish(updates, "update")]):
                with graph.colocate_with(global_step.op):
                    done = _increment(global_step, scope)
        return done.op if isinstance(done, Tensor) else done

    # -- slots ----------------------------------------------------------------------------------
    def get_slot(self, var: Any, name: str) -> Any:
        """The slot `name` beside a variable, or None."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The variables that this optimizer made in the default graph, by name."""
        graph = get_default_graph()
        made = list(self._non_slot_variables())
        made += [v for named in self._slots.values() for v in named.values()]
        return sorted((v for v in made if v.op.graph is graph), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot, made with a tensor for its first value if it is not there."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_slot(var, val, op_name)
        return named[_key(var)]

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot, made with an initializer if it is not there."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        return named[_key(var)]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """The slot, made with zeros if it is not there."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_zeros_slot(var, op_name)
        return named[_key(var)]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the optimizer itself, one per graph."""
        key = (name, colocate_with.graph)
        if key not in self._non_slot_dict:
            with get_default_graph().colocate_with(colocate_with.op):
                self._non_slot_dict[key] = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=is_resource_variable(colocate_with),
                )
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Any:
        return self._non_slot_dict.values()

    # -- what subclasses override ----------------------------------------------------------------
    def _valid_dtypes(self) -> set[Any]:
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: Any) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            if t.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {t.dtype.base_dtype!r} for {t.name}, expected: {list(valid)}."
                )

    def _create_slots(self, var_list: list[Any]) -> None:
        """Make the slots of these variables."""

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """As `_apply_sparse`; indices may repeat, and are summed here."""
        values, indices = deduplicated(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """As `_resource_apply_sparse`; indices may repeat, and are summed here."""
        values, unique = deduplicated(grad, indices)
        return self._resource_apply_sparse(values, handle, unique)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """One node for all updates."""
        return group(*update_ops, name=name_scope)


def _checked(gradient: Any) -> Any:
    if gradient is None or isinstance(gradient, (Tensor, IndexedSlices)):
        return gradient
    try:
        return convert_to_tensor(gradient)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}"
        ) from None


def _increment(global_step: Any, scope: str) -> Any:
    if isinstance(global_step, BaseResourceVariable):
        one = convert_to_tensor(1, global_step.dtype)
        done = state.assign_add_variable(global_step.handle, one, name=scope)
    else:
        done = state.assign_add(global_step, 1, name=scope)
    return done
