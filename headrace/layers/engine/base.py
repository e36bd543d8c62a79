"""tf.layers.Layer: a layer whose variables are shared by name, through variable scopes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.functions.control.init_scope import init_scope
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.layers.engine import layer as keras
from headrace.layers.engine.layer_names import snake_case, unique_object_name
from headrace.layers.engine.weights import is_trained
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.scope import get_variable, variable_scope
from headrace.variables.scope_defaults import VariableScope

_keras_style = False


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """Layers made inside own their variables: no sharing by name, no `scope`, no `reuse`."""
    global _keras_style
    before, _keras_style = _keras_style, True
    try:
        yield
    finally:
        _keras_style = before


def set_keras_style() -> None:
    """From here on, layers own their variables, as inside `keras_style_scope`."""
    global _keras_style
    _keras_style = True


class Layer(keras.Layer):
    """The base of tf.layers: a function of tensors with variables in a variable scope.

    A subclass makes its variables in `build(input_shape)` with `add_weight` and says in
    `call(inputs)` what it computes.  Its first call opens the variable scope of its name.

    Args:
      trainable: are the variables to be trained?
      name: name of the variable scope; default the class's, in snake case.
      dtype: element type of the variables; default that of the first input.
      **kwargs: as of Keras' layers; `_scope`, the variable scope to use; `_reuse`, take variables
        that are there.
    """

    _reuse: Any = None
    _scope: Any = None
    _current_scope: Any = None
    _base_name: Any
    _keras_style = False
    _keeps_own_weights = False
    _use_resource_variables = False

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        kwargs.setdefault("autocast", False)
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._keras_style = _keras_style
        if self._keras_style:
            for argument, given in (("scope", scope), ("reuse", self._reuse)):
                _refuse_in_keras_style(argument, given)
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # attributes are not tracked here

    def _sublayers(self) -> list[Any]:
        return []

    # -- names and scopes ----------------------------------------------------------------------
    def _init_set_name(self, name: Any) -> None:
        self._base_name = name.name if isinstance(name, VariableScope) else name
        self._name = name
        if isinstance(name, VariableScope) or not name:
            base = snake_case(type(self).__name__)
            self._name = unique_object_name(base)
            self._base_name = self._base_name or base

    @property
    def graph(self) -> None:
        """None: a layer belongs to no graph."""
        return None

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope."""
        if not self._scope:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name  is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        name: str = self._scope.name
        return name

    def _name_scope(self) -> str:
        if self._keras_style:
            return super()._name_scope()
        opened: str = self._current_scope.original_name_scope
        return opened

    def _set_scope(self, scope: Any = None) -> None:
        """Open the layer's variable scope, once."""
        if self._scope is not None:
            return
        if self._reuse:
            entered = variable_scope(self._base_name if scope is None else scope)
        else:
            entered = variable_scope(scope, default_name=self._base_name)
        with entered as captured:
            self._scope = captured

    # -- weights and losses --------------------------------------------------------------------
    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """As of Keras' layers; they also join `GraphKeys.REGULARIZATION_LOSSES`."""
        known, deferred = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        made = [loss() for loss in self._callable_losses[deferred:]]
        new = [*self._losses[known:], *(loss for loss in made if loss is not None)]
        _collect(new, GraphKeys.REGULARIZATION_LOSSES)

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: Any,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        partitioner: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Make a variable of the layer, or take the one of this name where variables are reused.

        Args:
          name: its name, below the layer's scope.
          shape: its shape.
          dtype: element type; default that of the layer, else float32.
          initializer: an initializer; default that of the scope.
          regularizer: function from the variable to a loss.
          trainable: is it to be trained?  Default True unless it is synchronised on read.
          constraint: function that optimizers apply to the new value.
          use_resource: a variable by handle?
          synchronization: when copies in a replicated program are brought together.
          aggregation: how updates in a replicated program are combined.
          partitioner: cuts the variable into parts.
          **kwargs: `experimental_autocast`, accepted.

        Returns:
          A variable, or a PartitionedVariable.

        Raises:
          ValueError: trainable although synchronised on read.
        """
        for key in kwargs:
            if key != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", key)
        options: dict[str, Any] = {"constraint": constraint, "partitioner": partitioner}
        if self._keras_style:
            return super().add_weight(
                name,
                shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                trainable=trainable and self.trainable,
                use_resource=use_resource,
                **options,
            )
        trainable = is_trained(trainable, synchronization)
        known = {id(v) for v in _home().get_collection(GraphKeys.GLOBAL_VARIABLES)}
        before = len(self._trainable_weights)
        self._set_scope(None)
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(self._name_scope()):
                variable = super().add_weight(
                    name,
                    shape,
                    dtype=as_dtype(dtype or self.dtype or dtypes.float32),
                    initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable and self.trainable,
                    use_resource=use_resource or self._use_resource_variables or scope.use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                    getter=get_variable,
                    **options,
                )
                if regularizer and not any(id(part) in known for part in _parts(variable)):
                    self._handle_weight_regularization(name, variable, regularizer)
        if trainable and self.trainable and not _is_collected(variable):
            # A custom getter has decided that the variable is not trained.
            self._non_trainable_weights += self._trainable_weights[before:]
            del self._trainable_weights[before:]
        return variable

    # -- calls ---------------------------------------------------------------------------------
    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer inside its variable scope.

        Args:
          inputs: a tensor or a structure of tensors.
          *args, **kwargs: passed to `call`; `scope` names the variable scope at the first call.
        """
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            _refuse_in_keras_style("scope", scope)
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as current:
            self._current_scope = current
            if "scope" in self._call_fn_args:
                kwargs["scope"] = current
            outputs = super().__call__(inputs, *args, **kwargs)
        _collect(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A layer that shares scope, variables and tensors with this one: they are the graph's."""
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        memo.update((id(shared), shared) for shared in self._graph_elements())
        for key, value in vars(self).items():
            scope = isinstance(value, (VariableScope, variable_scope))
            value = copy.copy(value) if scope else copy.deepcopy(value, memo)
            object.__setattr__(result, key, value)
        return result

    def _graph_elements(self) -> Iterator[Any]:
        yield from (*self._trainable_weights, *self._non_trainable_weights)
        yield from (*self._losses, *self._updates)


def _refuse_in_keras_style(argument: str, given: Any) -> None:
    if given is not None:
        raise ValueError(
            f"{argument} argument not allowed when keras style layers are enabled, but saw: {given}"
        )


def _home() -> Any:
    """The graph in which variables are made: outside of functions."""
    with init_scope():
        return get_default_graph()


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _is_collected(variable: Any) -> bool:
    trained = _home().get_collection(GraphKeys.TRAINABLE_VARIABLES)
    return any(known is part for part in _parts(variable) for known in trained)


def _collect(elements: list[Any], key: str) -> None:
    """Add what is not there yet to a collection of the graph."""
    there = get_default_graph().get_collection_ref(key)
    known = {id(x) for x in there}
    there.extend(x for x in elements if id(x) not in known)
