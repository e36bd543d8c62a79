"""Optimizer: numbers that may change while training, slots beside the variables, and the update of each."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from headrace.autodiff.tape import GradientTape
from headrace.layers import ops
from headrace.layers.engine.identifiers import get_initializer
from headrace.layers.engine.layer_names import snake_case, unique_object_name
from headrace.layers.engine.model_graph import home_of
from headrace.layers.engine.registry import serialize_keras_object
from headrace.layers.engine.weight_values import load_weights, read_weights, track
from headrace.layers.engine.weights import is_trained, make_variable
from headrace.layers.ops import nest
from headrace.ops.state.scatter_update import RESOURCE_SCATTER
from headrace.train.optimizers.base import deduplicated
from headrace.train.schedules.schedules import LearningRateSchedule
from headrace.variables.modes import VariableAggregation, VariableSynchronization

_FLOATS = (ops.dtypes.float16, ops.dtypes.bfloat16, ops.dtypes.float32, ops.dtypes.float64)


class Optimizer:
    """What all optimizers share.

    A subclass names its numbers in its constructor with `_set_hyper`, makes slots in `_create_slots`, and
    updates a variable in `_resource_apply_dense` and `_resource_apply_sparse`.

    Args:
      name: name of its scope and variables.
      **kwargs: `clipnorm`, `clipvalue` (bounds of gradients), `lr`, `decay` (of the learning rate, per step).
    """

    _HAS_AGGREGATE_GRAD = False

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in ("clipnorm", "clipvalue", "lr", "decay"):
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._hyper: dict[str, Any] = {}
        self._use_locking = True
        self._name = name or unique_object_name(snake_case(type(self).__name__), zero_based=True)
        self._slots: dict[int, dict[str, Any]] = {}
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._initial_decay = kwargs.pop("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])
        self._hypers_created = False

    # -- numbers --------------------------------------------------------------------------------
    def _set_hyper(self, name: str, value: Any) -> None:
        """Give a number its value: a number, a tensor, a schedule, or a function that gives one."""
        before = self._hyper.get(name)
        replaced = callable(before) or callable(value) or isinstance(before, ops.Tensor | int | float)
        if name not in self._hyper or replaced:
            self._hyper[name] = value
        else:
            load_weights([before], [np.asarray(value)])

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        """A number, as a tensor of a type."""
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        if callable(value) and not isinstance(value, ops.Variable):
            value = value()
        return ops.cast(value, dtype) if dtype else value

    def _create_hypers(self) -> None:
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items()):
            if not (isinstance(value, ops.Tensor | ops.Variable) or callable(value)):
                self._hyper[name] = self.add_weight(name, shape=[], trainable=False, initializer=value)
        self._hypers_created = True

    def __getattr__(self, name: str) -> Any:
        hyper = self.__dict__.get("_hyper", {})
        name = "learning_rate" if name == "lr" else name
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        name = "learning_rate" if name == "lr" else name
        if name in self.__dict__.get("_hyper", {}):
            self._set_hyper(name, value)
        else:
            object.__setattr__(self, name, value)

    def _decayed_lr(self, dtype: Any) -> Any:
        rate = self._get_hyper("learning_rate", dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = ops.cast(rate(ops.cast(self.iterations, dtype)), dtype)
        if self._initial_decay > 0.0:
            rate = rate / (1.0 + self._get_hyper("decay", dtype) * ops.cast(self.iterations, dtype))
        return rate

    # -- gradients and their use ----------------------------------------------------------------
    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Any:
        """Make the loss smaller, once.

        Args:
          loss: a function without arguments that gives it.
          var_list: variables, or a function that gives them.
          grad_loss: gradient of what is really minimised by the loss.
          name: name of the node.
        """
        pairs = self._compute_gradients(loss, var_list, grad_loss)
        return self.apply_gradients(pairs, name=name)

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[Any]:
        with GradientTape() as tape:
            if not callable(var_list):
                for variable in nest.flatten(var_list):
                    tape.watch(variable)
            value = loss()
        variables = nest.flatten(var_list() if callable(var_list) else var_list)
        with ops.name_scope(self._name + "/gradients"):
            found = self._clipped(tape.gradient(value, variables, grad_loss))
        self._assert_valid_dtypes([v for g, v in zip(found, variables) if g is not None])
        return list(zip(found, variables))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of a loss by variables, within the bounds that were given."""
        params = nest.flatten(params)
        with home_of(loss), ops.name_scope(self._name + "/gradients"):
            found = ops.gradients(loss, params)
            for gradient, param in zip(found, params):
                if gradient is None:
                    raise ValueError(
                        f"Variable {param} has `None` for gradient. Please make sure that all of your ops "
                        "have "
                        "a gradient defined (i.e. are differentiable). Common ops without gradient: "
                        "K.argmax, "
                        "K.round, K.eval."
                    )
            return self._clipped(found)

    def _clipped(self, gradients: list[Any]) -> list[Any]:
        if hasattr(self, "clipnorm"):
            gradients = [ops.clip_by_norm(g, self.clipnorm) for g in gradients]
        if hasattr(self, "clipvalue"):
            gradients = [ops.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Nodes that make a loss smaller, once."""
        gradients = self.get_gradients(loss, params)
        self._assert_valid_dtypes(params)
        return [self.apply_gradients(list(zip(gradients, params)))]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """Update variables by their gradients.

        Args:
          grads_and_vars: pairs of a gradient and its variable.
          name: name of the node.

        Returns:
          A node that has done it, and counted.
        """
        pairs = _with_gradients(grads_and_vars)
        variables = [v for _, v in pairs]
        with ops.name_scope(self._name):
            with ops.init_scope():
                _ = self.iterations
                self._create_hypers()
                self._create_slots(variables)
            state = self._prepare(variables)
            updates = []
            with ops.name_scope(name or self._name):
                for gradient, variable in pairs:
                    scope = "update" if ops.executing_eagerly() else "update_" + variable.op.name
                    with ops.name_scope(scope):
                        updates.append(self._updated(gradient, variable, state))
                done = [u for u in updates if u is not None]
                with ops.control_dependencies(done):
                    counted = self.iterations.assign_add(1)
                return counted if ops.executing_eagerly() else counted.op

    def _updated(self, gradient: Any, variable: Any, state: Any) -> Any:
        if isinstance(variable, ops.Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        if isinstance(gradient, ops.IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._resource_apply_sparse_duplicate_indices(
                gradient.values, variable, gradient.indices, **_accepted(self._resource_apply_sparse, state)
            )
        update = self._resource_apply_dense(
            gradient, variable, **_accepted(self._resource_apply_dense, state)
        )
        if variable.constraint is None:
            return update
        with ops.control_dependencies([] if update is None else [update]):
            return variable.assign(variable.constraint(variable))

    def _prepare(self, var_list: list[Any]) -> dict[Any, Any]:
        """The numbers of this step, by device and type."""
        state: dict[Any, Any] = {}
        for variable in var_list:
            key = (variable.device, variable.dtype.base_dtype)
            if key not in state:
                state[key] = {}
                self._prepare_local(*key, state)
        return state

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        if "learning_rate" in self._hyper:
            apply_state[var_device, var_dtype]["lr_t"] = ops.identity(self._decayed_lr(var_dtype))

    def _fallback_apply_state(self, var_device: Any, var_dtype: Any) -> Any:
        state: dict[Any, Any] = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, state)
        return state[var_device, var_dtype]

    def _numbers_for(self, variable: Any, apply_state: Any) -> Any:
        """The numbers of this step for a variable."""
        key = (variable.device, variable.dtype.base_dtype)
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def _create_slots(self, var_list: list[Any]) -> None:
        """Make the slots of these variables."""

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        """A node that updates a variable by its gradient."""
        raise NotImplementedError

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, **kwargs: Any
    ) -> Any:
        """The same for rows, which may be named more than once."""
        rows, distinct = deduplicated(grad, indices)
        return self._resource_apply_sparse(rows, handle, distinct, **kwargs)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        """The same for rows, each named once."""
        raise NotImplementedError

    def _resource_scatter_add(self, x: Any, i: Any, v: Any) -> Any:
        return self._scattered("add", x, i, v)

    def _resource_scatter_update(self, x: Any, i: Any, v: Any) -> Any:
        return self._scattered("update", x, i, v)

    def _scattered(self, kind: str, x: Any, i: Any, v: Any) -> Any:
        done = RESOURCE_SCATTER[kind](x.handle, i, v)
        with ops.control_dependencies([] if done is None else [done]):
            return x.value()

    # -- state ----------------------------------------------------------------------------------
    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """A variable that belongs to another one, made when it is first asked for."""
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        slots = self._slots.setdefault(_key(var), {})
        if slot_name not in slots:
            if isinstance(initializer, str) or callable(initializer):
                initializer = functools.partial(
                    get_initializer(initializer), shape=var.shape, dtype=var.dtype
                )
            name = f"{var.name.partition(':')[0]}/{slot_name}"
            slots[slot_name] = ops.Variable(
                initializer, name=name, dtype=var.dtype.base_dtype, trainable=False, use_resource=True
            )
            track(slots[slot_name])
            self._weights.append(slots[slot_name])
        return slots[slot_name]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The slot of this name of a variable."""
        return self._slots[_key(var)][slot_name]

    def get_slot_names(self) -> list[str]:
        """The names of slots."""
        return self._slot_names

    def _add_slots(self, var_list: list[Any], *names: str, initializer: Any = "zeros") -> None:
        for name in names:
            for variable in var_list:
                self.add_slot(variable, name, initializer)

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Make a variable of the optimizer."""
        if isinstance(initializer, str) or callable(initializer):
            initializer = get_initializer(initializer)
        kind = ops.as_dtype(dtype or "float32")
        if not callable(initializer):
            value = initializer
            initializer = lambda shape, dtype=kind: ops.constant(value, dtype)
        variable = make_variable(
            name,
            shape,
            kind,
            initializer,
            trainable=is_trained(trainable, synchronization),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        track(variable)
        return variable

    @property
    def iterations(self) -> Any:
        """How many updates there have been."""
        if self._iterations is None:
            self._iterations = self.add_weight("iter", shape=[], dtype="int64", trainable=False)
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._iterations = variable
        self._weights.append(variable)

    @property
    def weights(self) -> list[Any]:
        """The variables, in the order in which they were made."""
        return self._weights

    def variables(self) -> list[Any]:
        """The variables, in the order in which they were made."""
        return self._weights

    def get_weights(self) -> list[Any]:
        """The values of the variables."""
        return read_weights(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Give the variables these values."""
        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(params)} weights. Provided weights: "
                f"{str(weights)[:50]}..."
            )
        arrays = [np.asarray(value) for value in weights]
        for param, array in zip(params, arrays):
            if tuple(param.shape.as_list()) != array.shape:
                raise ValueError(
                    f"Optimizer weight shape {tuple(param.shape.as_list())} not compatible with provided "
                    "weight "
                    f"shape {array.shape}"
                )
        load_weights(params, arrays)

    # -- configuration --------------------------------------------------------------------------
    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        config = {"name": self._name}
        for key in ("clipnorm", "clipvalue"):
            if hasattr(self, key):
                config[key] = getattr(self, key)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer from what `get_config` returned."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = named_schedules.deserialize(config["learning_rate"], custom_objects)
        return cls(**config)

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return serialize_keras_object(value)
        if isinstance(value, ops.Variable):
            return read_weights([value])[0]
        if callable(value):
            return value()
        return read_weights([value])[0] if isinstance(value, ops.Tensor) else value

    def _hyper_config(self, *names: str, **others: Any) -> dict[str, Any]:
        """The configuration with these numbers."""
        hyper = {name: self._serialize_hyperparameter(name) for name in ("learning_rate", "decay", *names)}
        return Optimizer.get_config(self) | hyper | others

    def _assert_valid_dtypes(self, tensors: Any) -> None:
        for tensor in tensors:
            if tensor.dtype.base_dtype not in self._valid_dtypes():
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{list(self._valid_dtypes())}."
                )

    def _valid_dtypes(self) -> Any:
        return set(_FLOATS)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param


named_schedules = ops.late("headrace.keras.optimizers.rates")


def _key(variable: Any) -> Any:
    return getattr(variable, "_unique_id", None) or id(variable)


def _accepted(method: Any, state: Any) -> dict[str, Any]:
    """`apply_state`, for those that take it."""
    code = getattr(method, "__func__", method).__code__
    return {"apply_state": state} if "apply_state" in code.co_varnames[: code.co_argcount] else {}


def _with_gradients(pairs: Any) -> list[Any]:
    pairs = list(pairs)
    if not pairs:
        return []
    found = [(g, v) for g, v in pairs if g is not None]
    if not found:
        raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
    missing = [v.name for g, v in pairs if g is None]
    if missing:
        ops.log_warning(f"Gradients do not exist for variables {missing} when minimizing the loss.")
    return found
