"""headrace version"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.version import TF_VERSION, __version__


def main(words: Sequence[str]) -> int:
    print(f"headrace {__version__} (speaks TensorFlow {TF_VERSION})")
    return 0
