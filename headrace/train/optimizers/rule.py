"""The updates of optimizers that are one op each (ops.state.update): slots and numbers are left to say.

Every optimizer has these methods, for programs ask whether an optimizer's base is tf.train.Optimizer itself;
one that is not made of a rule overrides them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from headrace.functions.math.cast import cast
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.state.update_rule import Update
from headrace.variables.resource_base import is_resource_variable


class Number(NamedTuple):
    """A hyperparameter: the op's input, our attribute with the value, the one with the tensor."""

    input: str
    value: str
    tensor: str
    name: str


class RuleUpdates:
    """Subclasses name their numbers; `_rule` and `_slot_order` say which op, on which slots."""

    _use_locking: bool

    _numbers: ClassVar[tuple[Number, ...]] = ()

    def _rule(self) -> Update:
        raise NotImplementedError

    def _slot_order(self) -> tuple[str, ...]:
        return ()

    def _options(self) -> dict[str, Any]:
        return {}

    def _slot(self, var: Any, name: str) -> Any:
        return self.get_slot(var, name)  # type: ignore[attr-defined]

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _prepare(self) -> None:
        """Make the tensors that all updates share."""
        for number in self._numbers:
            value = self._call_if_callable(getattr(self, number.value))
            setattr(self, number.tensor, convert_to_tensor(value, name=number.name))

    def _inputs(self, var: Any, dtype: Any) -> dict[str, Any]:
        """The op's inputs besides state, gradient and indices."""
        return {n.input: cast(getattr(self, n.tensor), dtype) for n in self._numbers}

    def _apply(self, grad: Any, var: Any, indices: Any = None) -> Any:
        rule, by_handle = self._rule(), is_resource_variable(var)
        states = [var, *(self._slot(var, name) for name in self._slot_order())]
        inputs = self._inputs(var, var.dtype.base_dtype)
        arguments: list[Any] = [s.handle if by_handle else s for s in states]
        for i, name in enumerate(rule.inputs):
            arguments.append(grad if i == rule.gradient else inputs[name])
            if i == rule.gradient and indices is not None:
                arguments.append(indices)
        done = rule.op(by_handle, indices is not None)(
            *arguments, use_locking=self._use_locking, **self._options()
        )
        return done.op if isinstance(done, Tensor) else done

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Update a variable by reference with a dense gradient."""
        return self._apply(grad, var)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Update a variable by handle with a dense gradient."""
        return self._apply(grad, handle)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """Update a variable by reference with IndexedSlices of unique indices."""
        return self._apply(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Update a variable by handle with rows of unique indices."""
        return self._apply(grad, handle, indices)
