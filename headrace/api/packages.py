"""Parts of TF 1.15 that are packages of their own: tf.estimator is tensorflow-estimator.

As in TF 1.15, `import tensorflow` does not import them: the first name that is asked for does.  Such a
package imports `tensorflow`, which means headrace from then on.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from headrace.api.absent import Absent
from headrace.api.namespace import Namespace
from headrace.core.modules import late

stand_in = late("headrace.api.stand_in")


class PackageNamespace(Namespace):
    """A public namespace whose names are those of a module of another package."""

    def __init__(self, name: str, module: str, extra: str, requirement: str) -> None:
        super().__init__(name)  # before it a module has no __dict__ (Python 3.12)
        self.__dict__.update(_module=module, _extra=extra, _requirement=requirement)

    def _elsewhere(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        package = self._load()
        try:
            return getattr(package, name)
        except AttributeError:
            return super()._elsewhere(name)

    def _load(self) -> ModuleType:
        stand_in.install()
        # Its part for TPUs wants their classes at import: asking it for something says that they are absent.
        sys.modules.setdefault(f"{self._module}.tpu", Absent(f"{self._module}.tpu", "estimator.tpu"))
        try:
            return importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{self._module}.".startswith(f"{error.name}."):
                raise  # something that the package needs
            raise ModuleNotFoundError(
                f"tf.{self.__name__.partition('.')[2]} is the package {self._requirement}, which is not "
                f"installed: pip install 'headrace[{self._extra}]'",
                name=error.name,
            ) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for n in dir(self._load()) if not n.startswith("_"))})


def attach(root: ModuleType) -> None:
    """Give the package `root` these namespaces."""
    for place, module, extra, requirement in _PACKAGES:
        PackageNamespace(f"{root.__name__}.{place}", module, extra, requirement).attach(root, place)


_PACKAGES = (
    ("estimator", "tensorflow_estimator._api.v1.estimator", "estimator", "tensorflow-estimator 1.15.1"),
)
