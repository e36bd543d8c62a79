"""Random statements with an inside: branches, loops, functions, Python and queues.

`KINDS` says how often each kind of statement is written.
"""

from __future__ import annotations

from dataclasses import replace

from tests.state.maker import Known
from tests.state.statements import Writer


class Author(Writer):
    """Writes statements of all kinds."""

    def predicate(self) -> str:
        if self.random.random() < 0.3:
            return self.random.choice(("tf.constant(True)", "tf.constant(False)"))
        source = self.random.choice(self.variables + self.tensors + self.placeholders)
        value = source.text if source.shape == () else f"tf.reduce_sum({source.text})"
        zero = "0.0" if source.is_float else "0"
        return f"tf.greater({value}, {zero})"

    # -- bodies ----------------------------------------------------------------------------------
    def body(self, name: str, arguments: str, like: Known, carried: str = "", depth: int = 0) -> str:
        """A function's text: perhaps updates, then a value of a type and shape."""
        x, lines = self.operand(like), [f"def {name}({arguments}):"]
        value = self.random.choice((f"tf.identity({x})", f"tf.convert_to_tensor({x}) * {self.one(like)}", x))
        if carried:
            value = f"{carried} + {x}"
        first = [self.random.choice(self.waits)] if self.waits and self.random.random() < 0.2 else []
        if self.random.random() < 0.6:
            target = self.target()
            first.append(self.update(target))
            if self.random.random() < 0.2:
                first.append(self.update(self.target()))
            read = self.fit(self.read(target), target, like)
            if self.random.random() < 0.6:
                value = f"{carried} + {read}" if carried else f"tf.identity({read})"
        if self.random.random() < 0.25 and depth < 2:
            value = self.inner(like, carried or x, "i" if arguments.startswith("i") else "", depth + 1)
        placed = f', tf.device("/cpu:{self.random.randrange(3)}")' if self.is_placed() else ""
        lines.append(f"    with tf.control_dependencies([{', '.join(first)}]){placed}:")
        turn = "i + 1, " if arguments.startswith("i") else ""
        lines.append(f"        return {turn}tf.convert_to_tensor({value})")
        return "\n".join(lines)

    def inner(self, like: Known, x: str, turn: str, depth: int) -> str:
        """A branch or a loop inside of a body, as an expression."""
        if self.random.random() < 0.6:
            yes, no = self.name("yes"), self.name("no")
            self.plain(self.body(yes, "x", like, carried="x", depth=depth))
            self.plain(self.body(no, "x", like, depth=depth))
            choice = f"tf.equal({turn} % 2, {self.random.randrange(2)})" if turn else self.predicate()
            return f"tf.cond({choice}, lambda: {yes}({x}), lambda: {no}({x}))"
        name = self.name("body")
        self.plain(self.body(name, "i, x", like, carried="x", depth=depth))
        return self.while_loop(self.random.randrange(3), name, f"tf.identity({x})")

    def nested(self) -> None:
        """A branch or a loop in every turn of a loop, or in a branch."""
        like = self.like()
        x = self.operand(like)
        if self.random.random() < 0.5:
            name = self.name("body")
            self.plain(f"def {name}(i, x):\n    return i + 1, {self.inner(like, 'x', 'i', 1)}")
            self.tensor("l", self.while_loop(3, name, f"tf.identity({x})"), like)
        else:
            name = self.name("yes")
            self.plain(f"def {name}(x):\n    return tf.convert_to_tensor({self.inner(like, 'x', '', 1)})")
            source = f"tf.convert_to_tensor({x})"
            self.plain(self.body(f"no{name}", "", like))
            self.tensor("c", f"tf.cond({self.predicate()}, lambda: {name}({source}), no{name})", like)

    def branch(self) -> None:
        like = self.like()
        yes, no = self.name("yes"), self.name("no")
        self.plain(self.body(yes, "", like))
        self.plain(self.body(no, "", like))
        self.tensor("c", f"tf.cond({self.predicate()}, {yes}, {no})", like)

    def loop(self) -> None:
        like = self.like()
        name, turns = self.name("body"), self.random.randrange(4)
        self.plain(self.body(name, "i, x", like, carried="x"))
        start = f"tf.identity({self.operand(like)})"
        self.tensor("l", self.while_loop(turns, name, start), like)

    def while_loop(self, turns: int, body: str, start: str) -> str:
        more = f"parallel_iterations={self.random.choice((1, 1, 10))}"
        return f"tf.while_loop(lambda i, x: i < {turns}, {body}, [0, {start}], {more})[1]"

    # -- functions -------------------------------------------------------------------------------
    def function(self) -> None:
        like = self.like()
        name = self.name("f")
        one = self.one(like)
        values = ["tf.identity(x)", f"x * {one}", f"x + {one}", f"tf.maximum(x, {one}) - x"]
        value, lines = self.random.choice(values), [f"@Defun(tf.{like.dtype})", f"def {name}(x):"]
        if self.random.random() < 0.3:  # of a variable, which the function captures
            captured = self.like()
            value = f"x + {self.fit(captured.text, captured, like)}"
        resources = [v for v in self.variables if not v.is_ref]
        if resources and self.random.random() < 0.3:  # and changes
            target = self.random.choice(resources)
            value = f"x + {self.fit(f'{target.text}.read_value()', target, like)}"
            update = f"{target.text}.assign_add({self.constant(target)})"
            lines.append(f"    with tf.control_dependencies([{update}]):")
            lines.append(f"        return {value}")
        else:
            lines.append(f"    return {value}")
        self.plain("\n".join(lines))
        made = self.tensor("t", f"{name}(tf.convert_to_tensor({self.operand(like)}))", like)
        self.plain(f"{made.text}.set_shape({list(like.shape)})")

    def python(self) -> None:
        like = self.like()
        kind = self.random.choice(("halve", "negate", "unchanged", "note"))
        node = self.name(f"{kind}_")
        is_stateful = kind == "note" or self.random.random() < 0.7
        more = f'tf.{like.dtype}, stateful={is_stateful}, name="{node}"'
        text = f"tf.py_func({kind}, [{self.operand(like)}], {more})"
        made = self.tensor("y", text, like)
        self.plain(f"{made.text}.set_shape({list(like.shape)})")

    def queue(self) -> None:
        like = self.like()
        queue, put = self.name("q"), self.name("e")
        shape = list(like.shape)
        self.plain(f"{queue} = tf.FIFOQueue(64, [tf.{like.dtype}], [{shape}])")
        self.emit(f"{put} = {queue}.enqueue([{self.operand(like)}])", put)
        between = self.random.random() < 0.5
        if between:
            self.assign()
        got = replace(like, text=self.name("d"), is_ref=False)
        waits = [put, *(self.waits[-1:] if between and self.order == "row" else [])]
        self.emit(f"{got.text} = {queue}.dequeue()", got.text, waits=waits)
        self.tensors.append(got)


KINDS = {
    Author.arithmetic: 6, Author.passing: 6, Author.part: 1, Author.together: 1, Author.group: 1,
    Author.assign: 8, Author.scatter: 2, Author.assign_part: 1, Author.soft_update: 2, Author.clip: 2,
    Author.train: 3, Author.average: 2, Author.branch: 2, Author.loop: 2, Author.nested: 1,
    Author.function: 2, Author.python: 2, Author.queue: 2, Author.count_up: 1,
}  # fmt: skip
