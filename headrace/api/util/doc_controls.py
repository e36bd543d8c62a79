"""tensorflow.tools.docs.doc_controls: marks for what writes documentation.  They change nothing else."""

from __future__ import annotations

from typing import Any


def _marker(attribute: str) -> Any:
    def mark(obj: Any) -> Any:
        setattr(obj, attribute, None)
        return obj

    return mark


do_not_generate_docs = _marker("_tf_docs_do_not_document")
do_not_doc_inheritable = _marker("_tf_docs_do_not_doc_inheritable")
for_subclass_implementers = _marker("_tf_docs_tools_for_subclass_implementers")


def should_skip(obj: Any) -> bool:
    """Is it marked as not to be written about?"""
    return hasattr(obj, "_tf_docs_do_not_document")
