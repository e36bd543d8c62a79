"""Random statements over variables: what a program may do to them in a row (tests.state.bodies: in branches,
loops and functions).

Every kind of statement is a method that writes one or a few.
"""

from __future__ import annotations

from dataclasses import replace

from tests.state.maker import Known, Maker

OPTIMIZERS = (
    "GradientDescentOptimizer(0.25)",
    "MomentumOptimizer(0.125, 0.5)",
    "AdamOptimizer(0.125, 0.5, 0.75)",
    "AdagradOptimizer(0.25)",
)


class Writer(Maker):
    """Writes plain statements."""

    # -- pure statements -------------------------------------------------------------------------
    def arithmetic(self) -> None:
        like = self.like()
        a, b, one = self.operand(like), self.operand(like), self.one(like)
        texts = [f"{a} + {b}", f"{a} - {b}", f"({a}) * {one}", f"{a} + 0", f"tf.maximum({a}, {b})"]
        texts += [f"tf.abs({a})", f"tf.where(tf.greater({a}, {b}), {a}, {b})", f"tf.zeros_like({a})"]
        if like.is_float:
            texts += [f"({a}) / 1.0", f"({a}) * 0.5", f"tf.clip_by_value({a}, -8.0, 8.0)"]
            if len(like.shape) == 2:
                texts += [f"tf.matmul({a}, {b}) * {0.5 / like.shape[0]}"] * 4
        text = self.random.choice(texts)
        self.tensor("t", f"tf.convert_to_tensor({text})", like)

    def passing(self) -> None:
        """The value as it is, by one of many ways to say so."""
        like = self.like()
        x = self.operand(like)
        ways = ["tf.identity({})", "tf.identity({})", "tf.stop_gradient({})", "tf.tuple([{}])[0]"]
        # A cast to the same type, and a dropout of nothing, is the tensor itself, of which a run may ask the
        # node: none that is fed.
        ways += ["tf.cast({} + 0, tf." + like.dtype + ")", "tf.transpose(tf.transpose({}))"]
        ways += ["tf.reshape({}, " + str(list(like.shape)) + ")", "tf.squeeze(tf.expand_dims({}, 0), 0)"]
        ways += ["tf.stack([tf.convert_to_tensor({})])[0]", "tf.identity_n([{}])[0]"]
        ways += ["tf.placeholder_with_default({}, " + str(list(like.shape)) + ")"]
        if like.shape:
            ways += [
                "tf.concat([{}], 0)",
                "tf.identity({})[:]",
                "tf.tile({}, [1] * " + str(len(like.shape)) + ")",
            ]
        if like.is_float:
            kept = "tf.identity({})" if x.startswith("p") else "{}"
            ways += [f"tf.nn.dropout({kept}, keep_prob=1.0)", 'tf.check_numerics({}, "bad")']
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
        target = self.target()
        text = self.update(target)
        if target in self.variables and self.random.random() < 0.25:
            name = self.name("o")
            self.emit(f"{name} = {text[:-1]}, read_value=False)", name)
        else:
            self.tensor("a", text, target, target.is_ref)

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
