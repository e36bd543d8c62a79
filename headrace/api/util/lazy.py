"""lazy_loader and module_wrapper: modules that are imported, or watched, when somebody looks into them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyLoader(ModuleType):
    """Imports the module `name` when it is first used, and puts it into `parent_module_globals`."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item: str) -> Any:
        if item == "__path__":  # the import system asks before anybody uses it
            raise AttributeError(item)
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())


class TFModuleWrapper(ModuleType):
    """A module under another name: its attributes are those of `wrapped`."""

    def __init__(self, wrapped: ModuleType, module_name: str, **kwargs: Any) -> None:
        super().__init__(wrapped.__name__)
        self.__dict__.update(_tfmw_wrapped_module=wrapped, _tfmw_module_name=module_name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_tfmw_wrapped_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tfmw_wrapped_module, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._tfmw_wrapped_module)
