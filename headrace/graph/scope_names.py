"""Names as seen from inside a scope, and back.  Also "^name" (control) and "loc:@name" (groups)."""

from __future__ import annotations

import re

_MARK = r"(\^|loc:@|^)"


def strip_scope(name: str, scope: str | None) -> str:
    """`name` without the scope that it begins with."""
    if not scope:
        return name
    return re.sub(_MARK + re.escape(scope.rstrip("/")) + "/+(.*)", r"\1\2", name, count=1)


def add_scope(name: str, scope: str | None) -> str:
    """`name` inside the scope."""
    if not scope:
        return name
    mark = "^" if name.startswith("^") else "loc:@" if name.startswith("loc:@") else ""
    return f"{mark}{scope.rstrip('/')}/{name[len(mark) :]}"
