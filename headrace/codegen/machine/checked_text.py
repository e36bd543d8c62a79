"""Kernels whose every load and store is checked against the bounds of its array.

In: the LLVM text of a kernel (emit.llvm).  Out: the same with two more buffers before its own: a table (the
number of the entry, then the bytes of each buffer) and a report.  An access that leaves its buffer is
noted there, if it is the first one, and goes to memory of the kernel's own instead, so that nothing else
is read or overwritten.

Where an address comes from is followed back through the text: to a buffer, or to what the kernel keeps on
its own stack or gets as parameters, which are not checked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.codegen.machine.text_words import expanded

REPORT = "found entry buffer offset bytes writes".split()  # words
TABLE = 1  # words of the table before the sizes
_OPEN = "(ptr noalias %buffers, "
_HEAD = """\
  %buffers = getelementptr ptr, ptr %given, i64 2
  %bounds.table = load ptr, ptr %given
  %bounds.spare = alloca [1024 x i8], align 64
  %bounds.lanes = alloca [64 x ptr], align 64"""
_GUARDS = """
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)

define internal void @bounds.note(ptr %given, i64 %buffer, i64 %offset, i64 %bytes, i64 %writes) noinline {
  %table = load ptr, ptr %given
  %slot = getelementptr ptr, ptr %given, i64 1
  %report = load ptr, ptr %slot
  %pair = cmpxchg ptr %report, i64 0, i64 1 monotonic monotonic
  %is_first = extractvalue { i64, i1 } %pair, 1
  br i1 %is_first, label %write, label %done
write:
  %entry = load i64, ptr %table
  words(%report, 1) = i64 %entry, i64 %buffer, i64 %offset, i64 %bytes, i64 %writes
  br label %done
done:
  ret void
}

define internal ptr @bounds.one(ptr %given, ptr %spare, ptr %at, ptr %base, i64 %size, i64 %buffer,
                                i64 %bytes, i64 %writes) alwaysinline {
  %place = ptrtoint ptr %at to i64
  %start = ptrtoint ptr %base to i64
  %offset = sub i64 %place, %start
  %last = sub i64 %size, %bytes
  %above = icmp sge i64 %offset, 0
  %below = icmp sle i64 %offset, %last
  %inside = and i1 %above, %below
  br i1 %inside, label %good, label %bad
good:
  ret ptr %at
bad:
  call void @bounds.note(ptr %given, i64 %buffer, i64 %offset, i64 %bytes, i64 %writes)
  ret ptr %spare
}

; Lanes that are next to each other; only those of the mask count.  Mostly the first and the last of them
; are inside, and so all are.
define internal ptr @bounds.masked(ptr %given, ptr %spare, ptr %at, ptr %base, i64 %size, i64 %buffer,
                                   i64 %bytes, i64 %writes, i64 %mask) alwaysinline {
  %is_none = icmp eq i64 %mask, 0
  %first = call i64 @llvm.cttz.i64(i64 %mask, i1 false)
  %zeros = call i64 @llvm.ctlz.i64(i64 %mask, i1 false)
  %lanes = sub i64 64, %zeros
  %place = ptrtoint ptr %at to i64
  %start = ptrtoint ptr %base to i64
  %offset = sub i64 %place, %start
  %before = mul i64 %first, %bytes
  %low = add i64 %offset, %before
  %behind = mul i64 %lanes, %bytes
  %high = add i64 %offset, %behind
  %above = icmp sge i64 %low, 0
  %below = icmp sle i64 %high, %size
  %inside = and i1 %above, %below
  %good = or i1 %inside, %is_none
  br i1 %good, label %done, label %bad
done:
  ret ptr %at
bad:
  %safe = call ptr @bounds.lanes(ptr %given, ptr %spare, ptr %at, ptr %base, i64 %size, i64 %buffer,
                                 i64 %bytes, i64 %writes, i64 %mask)
  ret ptr %safe
}

define internal ptr @bounds.lanes(ptr %given, ptr %spare, ptr %at, ptr %base, i64 %size, i64 %buffer,
                                  i64 %bytes, i64 %writes, i64 %mask) noinline {
begin:
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %i1, %next ]
  %left = phi i64 [ %mask, %begin ], [ %fewer, %next ]
  %safe = phi ptr [ %at, %begin ], [ %chosen, %next ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %body, label %done
body:
  %bit = and i64 %left, 1
  %is_set = icmp ne i64 %bit, 0
  br i1 %is_set, label %look, label %next
look:
  %skipped = mul i64 %i, %bytes
  %lane = getelementptr i8, ptr %at, i64 %skipped
  %found = call ptr @bounds.one(ptr %given, ptr %spare, ptr %lane, ptr %base, i64 %size, i64 %buffer,
                                i64 %bytes, i64 %writes)
  %is_good = icmp eq ptr %found, %lane
  %kept = select i1 %is_good, ptr %safe, ptr %spare
  br label %next
next:
  %chosen = phi ptr [ %safe, %body ], [ %kept, %look ]
  %i1 = add i64 %i, 1
  %fewer = lshr i64 %left, 1
  br label %head
done:
  ret ptr %safe
}

; Lanes anywhere: their addresses are in memory, and changed there.
define internal void @bounds.each(ptr %given, ptr %spare, ptr %lanes, ptr %base, i64 %size, i64 %buffer,
                                  i64 %bytes, i64 %writes, i64 %mask) noinline {
begin:
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %i1, %next ]
  %left = phi i64 [ %mask, %begin ], [ %fewer, %next ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %body, label %done
body:
  %bit = and i64 %left, 1
  %is_set = icmp ne i64 %bit, 0
  br i1 %is_set, label %look, label %next
look:
  %slot = getelementptr ptr, ptr %lanes, i64 %i
  %at = load ptr, ptr %slot
  %found = call ptr @bounds.one(ptr %given, ptr %spare, ptr %at, ptr %base, i64 %size, i64 %buffer,
                                i64 %bytes, i64 %writes)
  store ptr %found, ptr %slot
  br label %next
next:
  %i1 = add i64 %i, 1
  %fewer = lshr i64 %left, 1
  br label %head
done:
  ret void
}
"""

_NAME = r"%[\w.]+"
_DEFINED = re.compile(rf"  ({_NAME}) = (.+)")
_SLOT = re.compile(r"getelementptr ptr, ptr %buffers, i64 (\d+)")
_MOVED = re.compile(rf"getelementptr .+?, ptr ({_NAME}), ")
_LOADED = re.compile(rf"load ptr, ptr ({_NAME})")
_CHOSEN = re.compile(rf"select i1 (\S+), ptr ({_NAME}), ptr ({_NAME})")
_MERGED = re.compile(r"phi ptr (\[.+\])")
_SOURCE = re.compile(rf"\[ ({_NAME}), (%\w+) \]")
_PLAIN = re.compile(rf"(?P<kind>load|store) (?P<type><\d+ x \w+>|\w+)[ ,].*?ptr (?P<at>{_NAME})(,|$)")
_MASKED = re.compile(
    rf"@llvm\.masked\.(?P<kind>load|store|gather|scatter)\."
    rf".*?(?:ptr|x ptr>) (?P<at>{_NAME}), i32 \d+, (?P<mask><\d+ x i1> (?:splat \(i1 \d\)|\S+?))[,)]"
)
_TOUCHES = ("load ", "store ", "call ")  # memory
_VECTOR = re.compile(r"<(\d+) x (?!(?:ptr|i1)\b)(\w+)>")
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


class _Root(NamedTuple):
    """Where an address comes from: the start of a buffer, its bytes, its number."""

    base: str
    size: str
    number: str


_OWN = _Root("null", str((1 << 63) - 1), "-1")  # of the kernel: not checked


def checked(text: str) -> str:
    """The kernel with checks; any other text as it is."""
    return _Checks(text).write() if _OPEN in text else text


class _Checks:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        found = (_DEFINED.match(line) for line in self.lines)
        self.defined = {m[1]: m[2] for m in found if m}
        self.roots: dict[str, _Root] = {"%buffers": _OWN, "%params": _OWN}
        self.used: set[int] = set()  # buffers
        self.count = 0

    def write(self) -> str:
        body = [new for line in self.lines for new in self.line(line)]
        start = next(i for i, line in enumerate(body) if line.startswith("define"))
        body[start] = body[start].replace(_OPEN, "(ptr noalias %given, ")
        body[start + 2 : start + 2] = [_HEAD, *map(_size_of, sorted(self.used))]  # after its label
        known = [line for line in expanded(_GUARDS).split("\n") if line not in body or "declare" not in line]
        return "\n".join([*body, *known])

    def line(self, line: str) -> list[str]:
        found = _DEFINED.match(line)
        if found and (_CHOSEN.match(found[2]) or _MERGED.match(found[2])):
            return [line, *self.followed(found[1], found[2])]
        text = found[2] if found else line.strip()
        if not text.startswith(_TOUCHES):
            return [line]
        if plain := _PLAIN.match(text):
            return self.plain(line, plain)
        if masked := _MASKED.search(text):
            return self.masked(line, masked)
        if "ptr" in text and not text.startswith("call void @llvm.prefetch."):
            raise AssertionError(f"an access of an unknown kind: {text}")
        return [line]

    # -- where addresses come from -------------------------------------------------------------
    def root(self, name: str) -> _Root:
        chain = []
        while name not in self.roots:
            text = self.defined[name]
            chain.append(name)
            if moved := _MOVED.match(text):
                name = moved[1]
            else:
                self.roots[name] = self.origin(name, text)
        self.roots.update(dict.fromkeys(chain, self.roots[name]))
        return self.roots[name]

    def origin(self, name: str, text: str) -> _Root:
        if text.startswith("alloca "):
            return _OWN
        if _CHOSEN.match(text) or _MERGED.match(text):
            return _Root(f"{name}.base", f"{name}.size", f"{name}.buffer")
        loaded = _LOADED.match(text)
        slot = _SLOT.match(self.defined.get(loaded[1], "")) if loaded else None
        if slot is None:
            raise AssertionError(f"an address from nowhere: {name} = {text}")
        self.used.add(int(slot[1]))
        return _Root(name, f"%bounds.size{slot[1]}", slot[1])

    def followed(self, name: str, text: str) -> list[str]:
        """The roots of one of several addresses."""
        own = self.root(name)
        if chosen := _CHOSEN.match(text):
            roots = zip(own, ("ptr", "i64", "i64"), self.root(chosen[2]), self.root(chosen[3]))
            return [f"  {new} = select i1 {chosen[1]}, {t} {a}, {t} {b}" for new, t, a, b in roots]
        sources = _SOURCE.findall(text)
        lines = []
        for part, (new, type) in enumerate(zip(own, ("ptr", "i64", "i64"))):
            pairs = ", ".join(f"[ {self.root(at)[part]}, {block} ]" for at, block in sources)
            lines.append(f"  {new} = phi {type} {pairs}")
        return lines

    # -- accesses --------------------------------------------------------------------------------
    def plain(self, line: str, access: re.Match[str]) -> list[str]:
        root = self.root(access["at"])
        if root is _OWN:
            return [line]
        call = self.call("one", access["at"], root, _bytes(access["type"]), access["kind"])
        new = self.name()
        return [f"  {new} = call ptr {call})", _swap(line, f"ptr {access['at']}", f"ptr {new}")]

    def masked(self, line: str, access: re.Match[str]) -> list[str]:
        """A check before a load or store of some lanes: lanes that the mask leaves out may point
        anywhere. Of a gather or scatter every address is checked, through memory on the stack."""
        root = self.root(access["at"])
        vector = _VECTOR.search(line)
        assert vector is not None, line
        lanes, size = int(vector[1]), _bytes(vector[2])
        bits, wide = self.name(), self.name()
        lines = [f"  {bits} = bitcast {access['mask']} to i{lanes}"]
        lines += [f"  {wide} = zext i{lanes} {bits} to i64"] if lanes < 64 else []
        mask = wide if lanes < 64 else bits
        if access["kind"] in ("load", "store"):
            call, new = self.call("masked", access["at"], root, size, access["kind"]), self.name()
            lines.append(f"  {new} = call ptr {call}, i64 {mask})")
            return [*lines, _swap(line, f"ptr {access['at']}", f"ptr {new}")]
        addresses, new = f"<{lanes} x ptr>", self.name()
        call = self.call("each", "%bounds.lanes", root, size, access["kind"])
        lines += [
            f"  store {addresses} {access['at']}, ptr %bounds.lanes",
            f"  call void {call}, i64 {mask})",
            f"  {new} = load {addresses}, ptr %bounds.lanes",
        ]
        return [*lines, _swap(line, f"{addresses} {access['at']}", f"{addresses} {new}")]

    def call(self, guard: str, at: str, root: _Root, size: int, kind: str) -> str:
        writes = int(kind in ("store", "scatter"))
        return (
            f"@bounds.{guard}(ptr %given, ptr %bounds.spare, ptr {at}, ptr {root.base}, "
            f"i64 {root.size}, i64 {root.number}, i64 {size}, i64 {writes}"
        )

    def name(self) -> str:
        self.count += 1
        return f"%bounds.{self.count}"


def _size_of(buffer: int) -> str:
    slot = f"%bounds.slot{buffer}"
    return (
        f"  {slot} = getelementptr i64, ptr %bounds.table, i64 {TABLE + buffer}\n"
        f"  %bounds.size{buffer} = load i64, ptr {slot}"
    )


def _bytes(type: str) -> int:
    vector = _VECTOR.match(type)
    lanes, element = (int(vector[1]), vector[2]) if vector else (1, type)
    return lanes * (_BYTES.get(element) or int(element[1:]) // 8)


def _swap(line: str, old: str, new: str) -> str:
    """The line with another address, whose name may begin other names."""
    return re.sub(rf"{re.escape(old)}(?![\w.])", new, line, count=1)
