"""How the operands of a matrix product lie in memory: each matrix, and the way from one to the next.

In: the views of a LibraryCall "matmul", whose leading dimensions broadcast.  Out: `matrix`, and
`stacks`: loops over the matrices of the result, with the elements that each operand moves on per step.
"""

from __future__ import annotations

from headrace.ops.declaration.emit import LibraryCall, View

OPERANDS = ("src", "weights", "dst")


def matrix(view: View) -> tuple[bool, int] | None:
    """Whether the last two dimensions are exchanged in memory, and the step between rows."""
    if len(view.shape) < 2:
        return None
    steps = view.steps
    row, column = steps[view.order[-2]], steps[view.order[-1]]
    rows, columns = view.shape[-2:]
    if column == 1 or columns == 1:
        return False, max(row if rows > 1 else columns, columns, 1)
    if row == 1 or rows == 1:
        return True, max(column, rows, 1)
    return None


def stacks(call: LibraryCall) -> list[tuple[int, int, int, int]]:
    """Loops, outermost first: (extent, steps of src, weights and dst).  An operand stands still in a
    dimension that it does not have.  Dimensions along which all three step evenly are one loop."""
    views = [call.views[name] for name in OPERANDS]
    steps = [_steps(v) for v in views]
    found: list[tuple[int, int, int, int]] = []
    for axis, extent in enumerate(views[-1].shape[:-2]):
        a, b, c = (s[axis] for s in steps)
        if extent == 1:
            continue
        if found and found[-1][1:] == (a * extent, b * extent, c * extent):
            found[-1] = (found[-1][0] * extent, a, b, c)
        else:
            found.append((extent, a, b, c))
    return found


def _steps(view: View) -> list[int]:
    """Per leading dimension, the elements to the next matrix; 0 where the only one serves all."""
    steps = view.steps
    return [0 if n == 1 else steps[a] for n, a in zip(view.shape[:-2], view.order)]
