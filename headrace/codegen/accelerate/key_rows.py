"""Rows of keys in native code: the KeyRows of tables with many keys (ops.lookup.key_rows).

A table of slots with two words each: what the key is (its number, or the address of its bytes object), and
its row.  A key's first slot follows from its hash; if another key is there, the next slots are looked at.
Keys are looked up in blocks: first all hashes, so that memory is on its way when the slots and then the keys
in them are compared.  Python's lock is free meanwhile; the table's own lock is held.
"""

from __future__ import annotations

import ctypes
import secrets
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import is_available
from headrace.core.dtypes import DType, NDArray, string

_EMPTY, _GONE = -1, -2  # rows of slots without a key
_TAG = 40  # of a row's word, the bits from here on are part of the hash, where keys are texts
_BLOCK = 16  # keys looked up together
_FULL = 0.6  # of the slots
_LEAST = 1 << 8  # slots

# Where a bytes object has its type, its length and its octets: CPython's layout, checked before use.
_TYPE, _SIZE = object.__basicsize__ - 8, object.__basicsize__
_DATA = bytes.__basicsize__ - 1


def make(dtype: DType) -> NativeRows | None:
    """Rows for keys of this type; None where there is no native form."""
    if not is_available() or (dtype is string and not _has_usual_layout()):
        return None
    return NativeRows(dtype)


class NativeRows:
    """Keys and their rows: see ops.lookup.key_rows.KeyRows."""

    def __init__(self, dtype: DType) -> None:
        self._text = dtype is string
        self._dtype = dtype.numpy
        self._seed = secrets.randbits(64)  # nobody can choose keys whose hashes meet
        self._count = 0
        self._reset(_LEAST)
        self._keys = np.empty(0, object if self._text else np.int64)  # by row; keeps texts alive

    def __len__(self) -> int:
        return self._count

    def _reset(self, size: int) -> None:
        self._slots = np.empty((size, 2), np.int64)
        self._slots[:] = (0, _EMPTY)
        self._used = 0  # slots with a key, or that had one

    def find(self, keys: NDArray) -> NDArray:
        words = self._words(keys)
        out = np.empty(len(words), np.int64)
        self._call("find", words, words, out, out)
        return out

    def add(self, keys: NDArray, fresh: NDArray) -> tuple[NDArray, int]:
        """Rows of all keys; the kernel says which keys were new, and these are kept."""
        words, fresh = self._words(keys), np.ascontiguousarray(fresh, np.int64)
        self._make_room(len(words))
        out, first = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
        added = self._call("add", words, fresh, out, first)
        rows = fresh[:added]
        if added:
            most = int(rows.max()) + 1
            if most > len(self._keys):
                larger = np.empty(max(most, 2 * len(self._keys)), self._keys.dtype)
                larger[: len(self._keys)] = self._keys
                self._keys = larger
            self._keys[rows] = words[first[:added]]
        self._count += added
        self._used += added
        return out, added

    def remove(self, keys: NDArray) -> NDArray:
        words = self._words(keys)
        slots = np.empty(len(words), np.int64)
        self._call("slot", words, words, slots, slots)
        there, first = np.unique(slots, return_index=True)
        there, first = there[there >= 0], first[there >= 0]
        rows = np.full(len(words), -1, np.int64)
        rows[first] = self._rows_of(self._slots[there, 1])
        self._slots[there, 1] = _GONE
        if self._text:
            self._keys[rows[first]] = None
        self._count -= len(there)
        return rows

    def items(self) -> tuple[NDArray, NDArray]:
        held = self._slots[:, 1]
        rows = np.sort(self._rows_of(held[held >= 0]))
        return self._keys[rows].astype(self._dtype), rows

    def _rows_of(self, words: NDArray) -> NDArray:
        rows: NDArray = words & ((1 << _TAG) - 1)
        return rows

    def _make_room(self, count: int) -> None:
        """Slots for so many more keys; those of removed keys are free again after that."""
        if self._used + count <= len(self._slots) * _FULL:
            return
        keys, rows = self.items()
        self._reset(1 << max(int((self._count + count) / _FULL).bit_length(), 8))
        if self._count:
            words, out = self._words(keys), np.empty(self._count, np.int64)
            self._used = self._call("add", words, rows, out, out)

    def _words(self, keys: NDArray) -> NDArray:
        flat = np.ascontiguousarray(keys).reshape(-1)
        return flat if self._text else flat.astype(np.int64, copy=False)

    def _call(self, what: str, words: NDArray, fresh: NDArray, out: NDArray, first: NDArray) -> int:
        arrays = (words, self._slots, fresh, out, first)
        at = [array.__array_interface__["data"][0] for array in arrays]
        size = len(words)
        found = _kernel(what, self._text)(
            at[0], size, at[1], len(self._slots) - 1, self._seed, id(bytes), at[2], at[3], at[4]
        )
        if found < 0:  # a text of another class than bytes
            plain = np.empty(size, object)
            plain[:] = [bytes(word) for word in words]
            return self._call(what, plain, fresh, out, first)
        return found


@cache
def _has_usual_layout() -> bool:
    sample = b"\x01headrace\xff"
    place = id(sample)
    return (
        sys.implementation.name == "cpython"
        and _SIZE == 16
        and ctypes.c_ssize_t.from_address(place + _SIZE).value == len(sample)
        and ctypes.c_void_p.from_address(place + _TYPE).value == id(bytes)
        and ctypes.string_at(place + _DATA, len(sample)) == sample
    )


# -- the kernels -----------------------------------------------------------------------------------
@cache
def _kernel(what: str, text: bool) -> Callable[..., int]:
    """`find`, `add`, or `slot` (as find, but the number of the slot).  The result: how many keys were added,
    or -1 where a text is no bytes object (then nothing was done yet)."""
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_uint64,
        *[ctypes.c_void_p] * 4,
    )

    def write(symbol: str) -> str:
        return _text(symbol, what, text)

    return kind(kernel_address(write("key rows"), write))


def _text(symbol: str, what: str, text: bool) -> str:
    """The kernel's LLVM text, made of the parts for texts or numbers, and for finding or adding."""
    is_text = "true" if text else "false"
    found, absent = {
        "find": ("%row", "  store i64 -1, ptr %to\n  br label %probed"),
        "slot": ("%s", "  store i64 -1, ptr %to\n  br label %probed"),
        "add": ("%row", _ADD),
    }[what]
    return _KERNEL.replace("@symbol", f"@{symbol}").replace(
        "$check", _CHECK if text else "  br label %blocks"
    ).replace("$hash", _HASH_CALL if text else _HASH_INT).replace(
        "$same", _SAME_CALL if text else "  %equal = icmp eq i64 %content, %key"
    ).replace("$tag", "%hash.tag" if text else "0").replace("$found", found).replace(
        "$absent", absent
    ).replace("$text", is_text).replace("$block", str(_BLOCK)).replace("$shift", str(_TAG)).replace(
        "$type", str(_TYPE)
    ).replace("$size", str(_SIZE)).replace("$data", str(_DATA)) + (
        _TEXTS.replace("$size", str(_SIZE)).replace("$data", str(_DATA)) if text else ""
    )


_HASH_CALL = "  %hash.made = call i64 @hash_of(i64 %hashed, i64 %seed)"
_HASH_INT = """  %hash.mixed = xor i64 %hashed, %seed
  %hash.made = call i64 @fold(i64 %hash.mixed, i64 -7046029254386353131)"""
_SAME_CALL = "  %equal = call i1 @same(i64 %content, i64 %key)"

_CHECK = """  br label %check
check:
  %c = phi i64 [ 0, %entry ], [ %c.next, %checked ]
  %c.more = icmp slt i64 %c, %n
  br i1 %c.more, label %check.one, label %blocks
check.one:
  %c.at = getelementptr i64, ptr %keys, i64 %c
  %c.ahead = getelementptr i64, ptr %c.at, i64 $block
  %c.far = add i64 %c, $block
  %c.inside = icmp slt i64 %c.far, %n
  %c.next.at = select i1 %c.inside, ptr %c.ahead, ptr %c.at
  %c.later = load ptr, ptr %c.next.at
  call void @llvm.prefetch.p0(ptr %c.later, i32 0, i32 3, i32 1)
  %c.object = load ptr, ptr %c.at
  %c.type.at = getelementptr i8, ptr %c.object, i64 $type
  %c.type = load ptr, ptr %c.type.at
  %c.fits = icmp eq ptr %c.type, %type
  br i1 %c.fits, label %checked, label %refused
checked:
  %c.next = add i64 %c, 1
  br label %check
refused:
  ret i64 -1"""

_ADD = """  %fresh.at = getelementptr i64, ptr %fresh, i64 %added
  %fresh.row = load i64, ptr %fresh.at
  %first.at = getelementptr i64, ptr %first, i64 %added
  store i64 %i, ptr %first.at
  store i64 %fresh.row, ptr %to
  %tag.high = shl i64 %tag, $shift
  %word = or i64 %fresh.row, %tag.high
  store i64 %key, ptr %slot.at
  store i64 %word, ptr %row.at
  %added.one = add i64 %added, 1
  store i64 %added.one, ptr %count
  br label %probed"""

_KERNEL = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal i64 @fold(i64 %a, i64 %b) alwaysinline {
  %wide.a = zext i64 %a to i128
  %wide.b = zext i64 %b to i128
  %product = mul i128 %wide.a, %wide.b
  %high.wide = lshr i128 %product, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %product to i64
  %both = xor i64 %high, %low
  ret i64 %both
}

define i64 @symbol(ptr %keys, i64 %n, ptr %slots, i64 %mask, i64 %seed, ptr %type, ptr %fresh, ptr %out,
                   ptr %first) {
entry:
  %hashes = alloca [$block x i64]
  %count = alloca i64
  store i64 0, ptr %count
$check
blocks:
  br label %block
block:
  %base = phi i64 [ 0, %blocks ], [ %base.next, %block.done ]
  %left = sub i64 %n, %base
  %any = icmp sgt i64 %left, 0
  br i1 %any, label %start, label %finish
start:
  %short = icmp slt i64 %left, $block
  %width = select i1 %short, i64 %left, i64 $block
  br label %hashing
hashing:
  %h = phi i64 [ 0, %start ], [ %h.next, %hashing ]
  %h.index = add i64 %base, %h
  %h.at = getelementptr i64, ptr %keys, i64 %h.index
  %hashed = load i64, ptr %h.at
$hash
  %hash.to = getelementptr i64, ptr %hashes, i64 %h
  store i64 %hash.made, ptr %hash.to
  %h.slot = and i64 %hash.made, %mask
  %h.double = shl i64 %h.slot, 1
  %h.place = getelementptr i64, ptr %slots, i64 %h.double
  call void @llvm.prefetch.p0(ptr %h.place, i32 0, i32 3, i32 1)
  %h.next = add i64 %h, 1
  %h.more = icmp slt i64 %h.next, %width
  br i1 %h.more, label %hashing, label %hashed.all
hashed.all:
  br i1 $text, label %reaching, label %probing
reaching:
  %r = phi i64 [ 0, %hashed.all ], [ %r.next, %reaching ]
  %r.at = getelementptr i64, ptr %hashes, i64 %r
  %r.hash = load i64, ptr %r.at
  %r.slot = and i64 %r.hash, %mask
  %r.double = shl i64 %r.slot, 1
  %r.place = getelementptr i64, ptr %slots, i64 %r.double
  %r.object = load ptr, ptr %r.place
  %r.data = getelementptr i8, ptr %r.object, i64 $data
  call void @llvm.prefetch.p0(ptr %r.data, i32 0, i32 3, i32 1)
  %r.next = add i64 %r, 1
  %r.more = icmp slt i64 %r.next, %width
  br i1 %r.more, label %reaching, label %probing
probing:
  %j = phi i64 [ 0, %hashed.all ], [ 0, %reaching ], [ %j.next, %probed ]
  %j.more = icmp slt i64 %j, %width
  br i1 %j.more, label %one, label %block.done
one:
  %i = add i64 %base, %j
  %key.at = getelementptr i64, ptr %keys, i64 %i
  %key = load i64, ptr %key.at
  %hash.at = getelementptr i64, ptr %hashes, i64 %j
  %hash = load i64, ptr %hash.at
  %hash.tag = lshr i64 %hash, 41
  %tag = add i64 $tag, 0
  %s.first = and i64 %hash, %mask
  %to = getelementptr i64, ptr %out, i64 %i
  %added = load i64, ptr %count
  br label %probe
probe:
  %s = phi i64 [ %s.first, %one ], [ %s.next, %other ]
  %s.double = shl i64 %s, 1
  %slot.at = getelementptr i64, ptr %slots, i64 %s.double
  %row.at = getelementptr i64, ptr %slot.at, i64 1
  %held = load i64, ptr %row.at
  %empty = icmp eq i64 %held, -1
  br i1 %empty, label %absent, label %taken
taken:
  %held.tag = ashr i64 %held, $shift
  %maybe = icmp eq i64 %held.tag, %tag
  br i1 %maybe, label %compare, label %other
compare:
  %content = load i64, ptr %slot.at
$same
  br i1 %equal, label %hit, label %other
other:
  %s.after = add i64 %s, 1
  %s.next = and i64 %s.after, %mask
  br label %probe
hit:
  %row = and i64 %held, 1099511627775
  store i64 $found, ptr %to
  br label %probed
absent:
$absent
probed:
  %j.next = add i64 %j, 1
  br label %probing
block.done:
  %base.next = add i64 %base, $block
  br label %block
finish:
  %result = load i64, ptr %count
  ret i64 %result
}
"""

_TEXTS = """
declare i32 @memcmp(ptr, ptr, i64)

define internal i1 @same(i64 %x, i64 %y) alwaysinline {
entry:
  %a = inttoptr i64 %x to ptr
  %b = inttoptr i64 %y to ptr
  %one = icmp eq ptr %a, %b
  br i1 %one, label %yes, label %sizes
sizes:
  %a.size.at = getelementptr i8, ptr %a, i64 $size
  %b.size.at = getelementptr i8, ptr %b, i64 $size
  %a.size = load i64, ptr %a.size.at
  %b.size = load i64, ptr %b.size.at
  %fits = icmp eq i64 %a.size, %b.size
  br i1 %fits, label %octets, label %no
octets:
  %a.data = getelementptr i8, ptr %a, i64 $data
  %b.data = getelementptr i8, ptr %b, i64 $data
  %differ = call i32 @memcmp(ptr %a.data, ptr %b.data, i64 %a.size)
  %equal = icmp eq i32 %differ, 0
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i64 @hash_of(i64 %address, i64 %seed) alwaysinline {
entry:
  %object = inttoptr i64 %address to ptr
  %size.at = getelementptr i8, ptr %object, i64 $size
  %size = load i64, ptr %size.at
  %data = getelementptr i8, ptr %object, i64 $data
  %mixed = xor i64 %seed, %size
  %start = call i64 @fold(i64 %mixed, i64 -6956574242236431063)
  %long = icmp uge i64 %size, 8
  br i1 %long, label %words, label %few
words:
  %end = sub i64 %size, 8
  br label %loop
loop:
  %at = phi i64 [ 0, %words ], [ %at.next, %step ]
  %h = phi i64 [ %start, %words ], [ %h.next, %step ]
  %more = icmp ult i64 %at, %end
  br i1 %more, label %step, label %last
step:
  %place = getelementptr i8, ptr %data, i64 %at
  %word = load i64, ptr %place, align 1
  %h.mixed = xor i64 %h, %word
  %h.next = call i64 @fold(i64 %h.mixed, i64 -7046029254386353131)
  %at.next = add i64 %at, 8
  br label %loop
last:
  %last.at = getelementptr i8, ptr %data, i64 %end
  %last.word = load i64, ptr %last.at, align 1
  br label %done
few:
  %four = icmp uge i64 %size, 4
  br i1 %four, label %halves, label %bytes
halves:
  %low.half = load i32, ptr %data, align 1
  %high.from = sub i64 %size, 4
  %high.at = getelementptr i8, ptr %data, i64 %high.from
  %high.half = load i32, ptr %high.at, align 1
  %low.wide = zext i32 %low.half to i64
  %high.wide = zext i32 %high.half to i64
  %high.up = shl i64 %high.wide, 32
  %both = or i64 %low.wide, %high.up
  br label %done
bytes:
  %none = icmp eq i64 %size, 0
  br i1 %none, label %done, label %some
some:
  %b0 = load i8, ptr %data
  %middle = lshr i64 %size, 1
  %b1.at = getelementptr i8, ptr %data, i64 %middle
  %b1 = load i8, ptr %b1.at
  %b2.from = sub i64 %size, 1
  %b2.at = getelementptr i8, ptr %data, i64 %b2.from
  %b2 = load i8, ptr %b2.at
  %w0 = zext i8 %b0 to i64
  %w1 = zext i8 %b1 to i64
  %w2 = zext i8 %b2 to i64
  %w1.up = shl i64 %w1, 8
  %w2.up = shl i64 %w2, 16
  %w01 = or i64 %w0, %w1.up
  %w012 = or i64 %w01, %w2.up
  br label %done
done:
  %state = phi i64 [ %h, %last ], [ %start, %halves ], [ %start, %bytes ], [ %start, %some ]
  %rest = phi i64 [ %last.word, %last ], [ %both, %halves ], [ 0, %bytes ], [ %w012, %some ]
  %end.mixed = xor i64 %state, %rest
  %result = call i64 @fold(i64 %end.mixed, i64 -7046029254386353131)
  ret i64 %result
}
"""
