"""Random statements over variables: what a program may do to them.

Every kind of statement is a method that writes one or a few; `KINDS` says how often.
"""

from __future__ import annotations

from dataclasses import replace

from tests.state.maker import Known, Maker

OPTIMIZERS = (
    "GradientDescentOptimizer(0.25)",
    "MomentumOptimizer(0.125, 0.5)",
    "AdamOptimizer(0.125, 0.5, 0.75)",
)


class Author(Maker):
    """Writes statements of all kinds."""

    # -- pure statements -------------------------------------------------------------------------
    def arithmetic(self) -> None:
        like = self.like()
        a, b, one = self.operand(like), self.operand(like), self.one(like)
        texts = [f"{a} + {b}", f"{a} - {b}", f"({a}) * {one}", f"{a} + 0", f"tf.maximum({a}, {b})"]
        texts += [f"tf.abs({a})", f"tf.where(tf.greater({a}, {b}), {a}, {b})", f"tf.zeros_like({a})"]
        if like.is_float:
            texts += [f"({a}) / 1.0", f"({a}) * 0.5", f"tf.clip_by_value({a}, -8.0, 8.0)"]
        text = self.random.choice(texts)
        self.tensor("t", f"tf.convert_to_tensor({text})", like)

    def passing(self) -> None:
        """The value as it is, by one of many ways to say so."""
        like = self.like()
        x = self.operand(like)
        ways = ["tf.identity({})", "tf.identity({})", "tf.stop_gradient({})", "tf.tuple([{}])[0]"]
        ways += ["tf.cast({}, tf." + like.dtype + ")", "tf.transpose(tf.transpose({}))"]
        ways += ["tf.reshape({}, " + str(list(like.shape)) + ")", "tf.squeeze(tf.expand_dims({}, 0), 0)"]
        ways += ["tf.stack([tf.convert_to_tensor({})])[0]", "tf.identity_n([{}])[0]"]
        if like.shape:
            ways += [
                "tf.concat([{}], 0)",
                "tf.identity({})[:]",
                "tf.tile({}, [1] * " + str(len(like.shape)) + ")",
            ]
        if like.is_float:
            ways += ["tf.nn.dropout({}, keep_prob=1.0)", 'tf.check_numerics({}, "bad")']
        text = self.random.choice(ways).format(x)
        self.tensor("i", f"tf.convert_to_tensor({text})", like)

    def part(self) -> None:
        """A row of a variable."""
        rows = [v for v in self.variables if v.shape]
        if rows:
            source = self.random.choice(rows)
            like = replace(source, shape=source.shape[1:])
            place = self.random.randrange(source.shape[0])
            ways = [f"{source.text}[{place}]", f"tf.gather({source.text}, {place})"]
            self.tensor("r", self.random.choice(ways), like)

    def together(self) -> None:
        like = self.like()
        other = self.like()
        a, b = self.name("b"), self.name("b")
        x, y = self.operand(like), self.operand(other)
        self.emit(f"{a}, {b} = tf.tuple([tf.convert_to_tensor({x}), tf.convert_to_tensor({y})])", a, b)
        self.tensors += [replace(like, text=a, is_ref=False), replace(other, text=b, is_ref=False)]

    def group(self) -> None:
        if len(self.waits) > 1:
            name = self.name("g")
            members = self.random.sample(self.waits, 2)
            self.emit(f"{name} = tf.group({', '.join(members)})", name)

    # -- writers ---------------------------------------------------------------------------------
    def assign(self) -> None:
        target = self.like()
        method = self.random.choice(("assign", "assign_add", "assign_sub"))
        value = self.operand(target)
        if self.random.random() < 0.25:
            name = self.name("o")
            self.emit(f"{name} = {target.text}.{method}({value}, read_value=False)", name)
        else:
            self.tensor("a", f"{target.text}.{method}({value})", target, target.is_ref)

    def count_up(self) -> None:
        """The value before, and one more in the variable."""
        counters = [v for v in self.variables if v.dtype in ("int32", "int64") and v.shape == ()]
        if counters:
            target = self.random.choice(counters)
            self.tensor("n", f"{target.text}.count_up_to(2 ** 31 - 1)", target)

    def scatter(self) -> None:
        rows = [v for v in self.variables if v.shape]
        if not rows:
            return
        target = self.random.choice(rows)
        kind = self.random.choice(("update", "add", "sub"))
        places = self.random.choice(([0], [target.shape[0] - 1, 0]))
        value = self.operand(replace(target, shape=(len(places), *target.shape[1:])))
        text = f"tf.scatter_{kind}({target.text}, {places}, {value})"
        self.tensor("a", text, target, target.is_ref)

    def assign_part(self) -> None:
        rows = [v for v in self.variables if v.shape]
        if not rows:
            return
        target = self.random.choice(rows)
        place = self.random.choice((0, target.shape[0] - 1))
        value = self.operand(replace(target, shape=target.shape[1:]))
        name = self.name("o")
        self.emit(f"{name} = {target.text}[{place}].assign({value})", name)

    def soft_update(self) -> None:
        """A target network that follows another one."""
        floats = [v for v in self.variables if v.is_float]
        if floats:
            target, source = self.random.choice(floats), self.random.choice(floats)
            value = self.fit(source.text, source, target)
            self.tensor(
                "a", f"{target.text}.assign(0.75 * {target.text} + 0.25 * {value})", target, target.is_ref
            )

    def clip(self) -> None:
        target = self.like()
        low, high = ("-1.5", "1.5") if target.is_float else ("-2", "2")
        text = f"{target.text}.assign(tf.clip_by_value({target.text}, {low}, {high}))"
        self.tensor("a", text, target, target.is_ref)

    def train(self) -> None:
        floats = [v for v in self.variables if v.is_float]
        if not floats:
            return
        chosen = self.random.sample(floats, min(len(floats), self.random.choice((1, 1, 2))))
        terms = [self.term(v) for v in chosen]
        loss, name = self.name("t"), self.name("o")
        self.emit(f"{loss} = {' + '.join(terms)}", loss)
        self.tensors.append(Known(loss, "float32", ()))
        steps = [v for v in self.variables if v.dtype in ("int32", "int64") and v.shape == ()]
        counted = f", global_step={steps[0].text}" if steps and self.random.random() < 0.6 else ""
        maker = self.random.choice(OPTIMIZERS)
        listed = ", ".join(v.text for v in chosen)
        self.emit(f"{name} = tf.train.{maker}.minimize({loss}, var_list=[{listed}]{counted})", name)

    def term(self, v: Known) -> str:
        """The square of a variable's distance from something; perhaps of a few rows alone."""
        used, target = v.text, v
        if v.shape and self.random.random() < 0.25:
            rows = self.random.choice(([0], [v.shape[0] - 1, 0], [1, 1]))
            used, target = f"tf.gather({used}, {rows})", replace(v, shape=(len(rows), *v.shape[1:]))
        term = f"tf.reduce_sum(tf.square({used} - tf.stop_gradient({self.operand(target)})))"
        return term if v.dtype == "float32" else f"tf.cast({term}, tf.float32)"

    def average(self) -> None:
        """Moving averages, which are variables of their own."""
        floats = [v for v in self.variables if v.is_float and not v.text.startswith("m")]
        if not floats:
            return
        chosen = self.random.sample(floats, min(len(floats), self.random.choice((1, 2))))
        ema, name = self.name("ema"), self.name("o")
        self.plain(f"{ema} = tf.train.ExponentialMovingAverage(0.5)")
        self.emit(f"{name} = {ema}.apply([{', '.join(v.text for v in chosen)}])", name, placed=False)
        for v in chosen:
            made = replace(v, text=self.name("m"))
            self.plain(f"{made.text} = {ema}.average({v.text})")
            self.variables.append(made)

    # -- bodies ----------------------------------------------------------------------------------
    def predicate(self) -> str:
        if self.random.random() < 0.3:
            return self.random.choice(("tf.constant(True)", "tf.constant(False)"))
        source = self.random.choice(self.variables + self.tensors + self.placeholders)
        value = source.text if source.shape == () else f"tf.reduce_sum({source.text})"
        zero = "0.0" if source.is_float else "0"
        return f"tf.greater({value}, {zero})"

    def body(self, name: str, arguments: str, like: Known, carried: str = "") -> str:
        """A function's text: perhaps an update, then a value of a type and shape."""
        x, lines = self.operand(like), [f"def {name}({arguments}):"]
        value = self.random.choice((f"tf.identity({x})", f"tf.convert_to_tensor({x}) * {self.one(like)}", x))
        if carried:
            value = f"{carried} + {x}"
        if self.random.random() < 0.6:
            target = self.like()
            method = self.random.choice(("assign", "assign_add", "assign_sub"))
            update = f"{target.text}.{method}({self.operand(target)})"
            lines.append(f"    with tf.control_dependencies([{update}]):")
            read = self.fit(self.read(target), target, like)
            if self.random.random() < 0.6:
                value = f"{carried} + {read}" if carried else f"tf.identity({read})"
        else:
            lines.append("    with tf.control_dependencies([]):")
        turn = "i + 1, " if arguments.startswith("i") else ""
        lines.append(f"        return {turn}tf.convert_to_tensor({value})")
        return "\n".join(lines)

    def nested(self) -> None:
        """A branch in every turn of a loop."""
        like = self.like()
        yes, no, name = self.name("yes"), self.name("no"), self.name("body")
        self.plain(self.body(yes, "x", like, carried="x"))
        self.plain(self.body(no, "x", like))
        self.plain(
            f"def {name}(i, x):\n    return i + 1, tf.cond(tf.equal(i % 2, "
            f"{self.random.randrange(2)}), lambda: {yes}(x), lambda: {no}(x))"
        )
        start = f"tf.identity({self.operand(like)})"
        self.tensor("l", self.while_loop(3, name, start, 1), like)

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
        self.tensor("l", self.while_loop(turns, name, start, self.random.choice((1, 1, 10))), like)

    def while_loop(self, turns: int, body: str, start: str, at_once: int) -> str:
        more = f"parallel_iterations={at_once}"
        return f"tf.while_loop(lambda i, x: i < {turns}, {body}, [0, {start}], {more})[1]"

    def function(self) -> None:
        like = self.like()
        name = self.name("f")
        one = self.one(like)
        values = ["tf.identity(x)", f"x * {one}", f"x + {one}", f"tf.maximum(x, {one}) - x"]
        value = self.random.choice(values)
        if self.random.random() < 0.3:  # of a variable, which the function captures
            captured = self.like()
            value = f"x + {self.fit(captured.text, captured, like)}"
        self.plain(f"@Defun(tf.{like.dtype})\ndef {name}(x):\n    return {value}")
        made = self.tensor("t", f"{name}(tf.convert_to_tensor({self.operand(like)}))", like)
        self.plain(f"{made.text}.set_shape({list(like.shape)})")

    def python(self) -> None:
        like = self.like()
        kind = self.random.choice(("halve", "negate", "unchanged"))
        node, is_stateful = self.name(f"{kind}_"), self.random.random() < 0.7
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
