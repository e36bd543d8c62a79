"""Programs that have aged: what Python, NumPy and other libraries removed since TF 1's time comes back.

`headrace run` calls `install` before the program starts, unless it is told --strict.  Every name that is used
is said once, with the line that used it.  Nothing here knows TensorFlow, and nothing of headrace needs it.
"""
