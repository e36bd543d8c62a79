"""headrace version: this version, and the TensorFlow that it speaks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from headrace.version import TF_VERSION, __version__


def main(words: Sequence[str]) -> int:
    argparse.ArgumentParser(prog="headrace version", description=__doc__).parse_args(list(words))
    print(f"headrace {__version__} (speaks TensorFlow {TF_VERSION})")
    return 0
