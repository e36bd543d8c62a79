"""Arguments that a layer's call gets from around it: `training` from the call around, masks from the
layers that made its inputs."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from headrace.core import dtypes
from headrace.functions.math.cast import cast
from headrace.functions.values.nest import flatten, map_structure
from headrace.graph.tensor import Tensor
from headrace.layers.engine.call_context import current_call
from headrace.layers.engine.learning_phase import phase_that_was_set


class CallArguments:
    """The part of Layer that completes the arguments of a call."""

    name: Any
    call: Any
    supports_masking: bool

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the output: that of the input, where the layer supports masks."""
        if not self.supports_masking:
            if any(m is not None for m in flatten(mask)):
                raise TypeError(
                    f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
                )
            return None
        return mask

    @property
    def _call_fn_args(self) -> list[str]:
        return _arguments(self.call)[0]

    def _takes(self, name: str) -> bool:
        names, takes_any = _arguments(self.call)
        return takes_any or name in names

    def _has(self, name: str, args: Any, kwargs: Any) -> bool:
        return name in kwargs or name in self._call_fn_args[1 : 1 + len(args)]

    def _training_asked(self, args: Any, kwargs: Any) -> Any:
        """Is this call for training?  As it says, else as the call around it says."""
        if self._has("training", args, kwargs):
            if "training" not in kwargs:
                return args[self._call_fn_args.index("training") - 1]
            return kwargs["training"] if self._takes("training") else kwargs.pop("training")
        outer = current_call()
        training = None if outer is None else outer.training
        if training is None:
            training = phase_that_was_set()
        if training is not None and self._takes("training"):
            training = cast(training, dtypes.bool_) if isinstance(training, Tensor) else bool(training)
            kwargs["training"] = training
        return training

    def _input_masks(self, inputs: Any, args: Any, kwargs: Any) -> Any:
        if "mask" in kwargs:
            return kwargs["mask"]
        if self._has("mask", args, kwargs):
            return args[self._call_fn_args.index("mask") - 1]
        masks = map_structure(lambda x: getattr(x, "_keras_mask", None), inputs)
        return None if all(mask is None for mask in flatten(masks)) else masks

    def _set_masks(self, inputs: Any, outputs: Any, masks: Any) -> None:
        tensors = [x for x in flatten(outputs) if isinstance(x, Tensor)]
        overridden = type(self).compute_mask is not CallArguments.compute_mask
        if masks is None and not overridden:
            return
        found = flatten(self.compute_mask(inputs, masks)) if (self.supports_masking or overridden) else []
        for tensor, mask in zip(tensors, found, strict=False):
            tensor._keras_mask = mask  # type: ignore[attr-defined]


def _arguments(call: Any) -> tuple[list[str], bool]:
    """The names of what a `call` takes, without self, and whether it takes others."""
    names, takes_any = _spec(getattr(call, "__func__", call))
    return (names[1:] if names[:1] == ["self"] else names), takes_any


@lru_cache(1024)
def _spec(function: Any) -> tuple[list[str], bool]:
    spec = inspect.getfullargspec(inspect.unwrap(function))
    return [*spec.args, *spec.kwonlyargs], spec.varkw is not None
