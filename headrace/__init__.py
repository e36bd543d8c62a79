"""Headrace: TensorFlow 1.15's language on today's Python, compiled to native code.

import headrace as tf

The public names are tables (headrace/api); `__init__.pyi` spells them out for editors and type checkers.
"""

from __future__ import annotations

import sys

from headrace.version import TF_VERSION as VERSION
from headrace.version import __version__ as __version__


def _become_namespace() -> None:
    from headrace import api
    from headrace.api.namespace import Namespace
    from headrace.api.stand_in import OwnPlaces
    from headrace.core import sources

    sources.note_start()
    root = Namespace(__name__, __doc__)
    old = sys.modules[__name__]
    root.__dict__.update(old.__dict__ | {"_homes": {}})
    sys.modules[__name__] = root
    api.fill(root)
    sys.meta_path.append(OwnPlaces())


__all__ = ["VERSION", "__version__"]
_become_namespace()
