"""Public names of the family: sessions."""

NAMES: dict[str, str] = {
    "headrace.session.session": "Session InteractiveSession",
    "headrace.functions.control.script": "py_func numpy_function py_function",
}
