"""What writes random programs: names, control inputs and devices of statements, operands, and runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.state.programs import Run, Statement

SHAPES: tuple[tuple[int, ...], ...] = ((), (), (4,), (4,), (4,), (2, 2), (2, 2), (3,), (3,), (40,), (48, 48))
TYPES = ("float32", "float32", "float32", "float64", "int32", "int64")


@dataclass(frozen=True)
class Known:
    """A tensor or variable that later statements may use."""

    text: str
    dtype: str
    shape: tuple[int, ...]
    is_ref: bool = False

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")


@dataclass
class Maker:
    """Makes statement after statement.  `order` says how they wait for each other: in a row, for
    some that were made before, or hardly."""

    random: random.Random
    order: str
    devices: bool
    statements: list[Statement] = field(default_factory=list)
    variables: list[Known] = field(default_factory=list)
    tensors: list[Known] = field(default_factory=list)
    placeholders: list[Known] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)  # names that control edges may come from
    count: int = 0

    # -- statements ------------------------------------------------------------------------------
    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, text: str, *names: str, waits: Sequence[str] | None = None, placed: bool = True) -> None:
        """A statement that binds `names`, under control inputs and perhaps on a device."""
        first = self.control() if waits is None else tuple(waits)
        device = ""
        if placed and self.is_placed():
            device = f"/cpu:{self.random.randrange(3)}"
        self.statements.append(Statement(text, names, first, device))
        self.waits += names

    def is_placed(self) -> bool:
        return self.devices and self.random.random() < 0.3

    def plain(self, text: str) -> None:
        self.statements.append(Statement(text))

    def control(self) -> tuple[str, ...]:
        if not self.waits:
            return ()
        if self.order == "row":
            return (self.waits[-1],)
        if self.order == "some" and self.random.random() < 0.7:
            count = min(len(self.waits), self.random.choice((1, 2)))
            return tuple(self.random.sample(self.waits, count))
        return ()

    def tensor(self, stem: str, text: str, like: Known, is_ref: bool = False) -> Known:
        """A statement `stem12 = text`, whose value has the type and shape of `like`."""
        made = replace(like, text=self.name(stem), is_ref=is_ref)
        self.emit(f"{made.text} = {text}", made.text)
        self.tensors.append(made)
        return made

    # -- operands --------------------------------------------------------------------------------
    def number(self) -> str:
        return self.random.choice(("0.5", "1.0", "2.0", "3.0", "-1.0", "-2.5", "0.0"))

    def constant(self, like: Known) -> str:
        value = self.number() if like.is_float else str(self.random.randrange(-3, 4))
        if like.shape == ():
            return f"np.{like.dtype}({value})"
        if self.random.random() < 0.5:
            return f"np.full({like.shape}, {value}, np.{like.dtype})"
        return f"({value} - np.arange({size(like)}) % 3).astype(np.{like.dtype}).reshape({like.shape})"

    def read(self, variable: Known) -> str:
        if variable not in self.variables:
            return variable.text
        ways = ("{}", "{}", "{}", "{}.value()", "{}.read_value()", "tf.identity({})")
        return self.random.choice(ways).format(variable.text)

    def operand(self, like: Known) -> str:
        """An expression of this type and shape: of a variable, a tensor, a placeholder, a number."""
        kind = self.random.random()
        if kind < 0.45:
            source = self.random.choice(self.variables)
            return self.fit(self.read(source), source, like)
        if kind < 0.8 and self.tensors:
            source = self.random.choice(self.tensors[-8:])
            return self.fit(source.text, source, like)
        if kind < 0.9 and self.placeholders:
            source = self.random.choice(self.placeholders)
            return self.fit(source.text, source, like)
        return self.constant(like)

    def fit(self, text: str, source: Known, like: Known) -> str:
        if source.dtype != like.dtype:
            if source.is_float and not like.is_float:
                text = f"tf.clip_by_value({text}, -100.0, 100.0)"  # what fits into an integer
            text = f"tf.cast({text}, tf.{like.dtype})"
        if source.shape == like.shape:
            return text
        if sorted(source.shape) == sorted(like.shape) or size(source) == size(like):
            return f"tf.reshape({text}, {list(like.shape)})"
        total = text if source.shape == () else f"tf.reduce_sum({text})"
        return total if like.shape == () else f"tf.fill({list(like.shape)}, {total})"

    def one(self, like: Known) -> str:
        return "1.0" if like.is_float else "1"

    def like(self) -> Known:
        return self.random.choice(self.variables)

    def target(self) -> Known:
        """What is written: a variable, or the reference that another writer gave."""
        refs = [t for t in self.tensors if t.is_ref]
        return self.random.choice(refs) if refs and self.random.random() < 0.15 else self.like()

    def update(self, target: Known) -> str:
        """A writer, as an expression."""
        method = self.random.choice(("assign", "assign_add", "assign_sub"))
        value = self.operand(target)
        if target in self.variables:
            return f"{target.text}.{method}({value})"
        return f"tf.{method}({target.text}, {value})"

    # -- variables -------------------------------------------------------------------------------
    def variable(self) -> None:
        is_ref = self.random.random() < 0.6
        shape, dtype = self.random.choice(SHAPES), self.random.choice(TYPES)
        made = Known(self.name("v"), dtype, shape, is_ref)
        more = f"use_resource={not is_ref}"
        if self.devices and is_ref and self.random.random() < 0.2:
            more += f', caching_device="/cpu:{self.random.randrange(3)}"'
        start = self.constant(made)
        text = f'{made.text} = tf.get_variable("{made.text}", initializer={start}, {more})'
        self.emit(text, waits=())
        self.variables.append(made)

    def placeholder(self) -> None:
        made = Known(self.name("p"), "float32", self.random.choice(SHAPES))
        self.plain(f"{made.text} = tf.placeholder(tf.float32, {list(made.shape)})")
        self.placeholders.append(made)

    # -- runs ------------------------------------------------------------------------------------
    def run(self) -> Run:
        choices = [t.text for t in self.tensors] + self.waits
        choices += [v.text for v in self.variables] + [f"{t.text}.op" for t in self.tensors]
        choices += [f"{v.text}.initializer" for v in self.variables if v.text.startswith("v")]
        choices += [f"{v.text}.value()" for v in self.variables if v.is_ref]
        count = self.random.choice((1, 2, 2, 3, 4))
        fetches = {self.random.choice(choices) for _ in range(count)}
        if self.random.random() < 0.5:
            fetches.add(self.waits[-1])
        feeds = {p.text: self.constant(p) for p in self.placeholders}
        if self.random.random() < 0.2:
            plain = [t for t in self.tensors if not t.is_ref]
            plain += [replace(v, text=f"{v.text}.value()") for v in self.variables if v.is_ref]
            fed = self.random.choice(plain) if plain else None
            if fed is not None:
                feeds[fed.text] = self.constant(fed)
        return Run(tuple(sorted(fetches)), tuple(feeds.items()))


def size(known: Known) -> int:
    total = 1
    for n in known.shape:
        total *= n
    return total
