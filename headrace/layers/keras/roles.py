"""Layers whose weights have roles (kernel, bias, ...): each with an initializer, a regularizer and a
constraint, kept as attributes `kernel_initializer` and so on."""

from __future__ import annotations

from typing import Any

from headrace.layers.engine.identifiers import get_constraint, get_initializer, get_regularizer, serialize
from headrace.layers.engine.layer import Layer

_KINDS = {"initializer": get_initializer, "regularizer": get_regularizer, "constraint": get_constraint}


class RoleLayer(Layer):
    """A layer with weights in roles, and perhaps a function of its output."""

    def _set_roles(self, **roles: tuple[Any, Any, Any]) -> None:
        """role=(initializer, regularizer, constraint), as given by the user."""
        self._roles = list(roles)
        for role, given in roles.items():
            for (kind, get), identifier in zip(_KINDS.items(), given, strict=True):
                setattr(self, f"{role}_{kind}", get(identifier))

    def _role_weight(self, role: str, shape: Any, name: str | None = None, **kwargs: Any) -> Any:
        """A weight in a role; it is called like the role, if no name is given."""
        kwargs = {"dtype": self.dtype, "trainable": True} | kwargs
        for kind in _KINDS:
            kwargs[kind] = getattr(self, f"{role}_{kind}")
        return self.add_weight(name or role, shape=shape, **kwargs)

    def _config(self, *names: str) -> dict[str, Any]:
        """The attributes of these names and those of the roles, as `get_config` returns them."""
        config = Layer.get_config(self)
        config.update((name, getattr(self, name)) for name in names)
        if hasattr(self, "activation"):
            config["activation"] = serialize(self.activation)
            config["activity_regularizer"] = serialize(self.activity_regularizer)
        for role in self._roles:
            for kind in _KINDS:
                config[f"{role}_{kind}"] = serialize(getattr(self, f"{role}_{kind}"))
        return config
