"""Public names of the family: sessions."""

NAMES: dict[str, str] = {
    "headrace.session.session": "Session InteractiveSession",
    "headrace.session.handles": "get_session_handle get_session_tensor delete_session_tensor",
    "headrace.functions.control.script": "py_func numpy_function",
    "headrace.eager.py_function": "py_function",
}
