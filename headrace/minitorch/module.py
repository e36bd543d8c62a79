"""Modules: a tree that holds parameters, and knows whether it is being trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Parameter:
    """A place for a value that training changes."""

    def __init__(self, x: Any, name: str | None = None) -> None:
        self.name = name
        self.update(x)

    def update(self, x: Any) -> None:
        """Put another value in."""
        self.value = x
        if hasattr(x, "requires_grad_"):
            x.requires_grad_(True)
            if self.name:
                x.name = self.name

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)


class Module:
    """Parameters and further modules are found by what is assigned to attributes."""

    _modules: dict[str, Module]
    _parameters: dict[str, Parameter]
    training: bool

    def __init__(self) -> None:
        self.__dict__.update(_modules={}, _parameters={}, training=True)

    def modules(self) -> Sequence[Module]:
        """The modules right below this one."""
        return list(self._modules.values())

    def train(self) -> None:
        """This module and all below it are being trained."""
        self._switch(True)

    def eval(self) -> None:
        """This module and all below it are being used."""
        self._switch(False)

    def _switch(self, training: bool) -> None:
        self.training = training
        for module in self.modules():
            module._switch(training)

    def named_parameters(self) -> Sequence[tuple[str, Parameter]]:
        """All parameters with their paths: "layer1.weights"."""
        below = [
            (f"{name}.{path}", parameter)
            for name, module in self._modules.items()
            for path, parameter in module.named_parameters()
        ]
        return [*self._parameters.items(), *below]

    def parameters(self) -> Sequence[Parameter]:
        return [parameter for _, parameter in self.named_parameters()]

    def add_parameter(self, k: str, v: Any) -> Parameter:
        """A parameter under a name that is made at run time."""
        made = Parameter(v, k)
        self._parameters[k] = made
        return made

    def __setattr__(self, key: str, val: Any) -> None:
        if isinstance(val, Parameter):
            self._parameters[key] = val
        elif isinstance(val, Module):
            self._modules[key] = val
        else:
            super().__setattr__(key, val)

    def __getattr__(self, key: str) -> Any:
        for place in ("_parameters", "_modules"):
            found = self.__dict__.get(place, {})
            if key in found:
                return found[key]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        inside = "".join(f"\n  {line}" for line in lines)
        return f"{type(self).__name__}({inside}\n)" if lines else f"{type(self).__name__}()"
