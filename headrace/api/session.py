"""Public names of the family: sessions."""

NAMES: dict[str, str] = {
    "headrace.session.session": "Session InteractiveSession",
}
