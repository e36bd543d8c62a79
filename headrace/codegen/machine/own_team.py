"""A thread team of our own, where the system has no libgomp.

Workers are Python threads that wait inside native code, with the interpreter released.  `parallel`
has the signature of GOMP_parallel: it lets workers 1 to count - 1 and the caller run a function, and
returns when all have.  One caller at a time: codegen.machine.threads.team sees to that.
"""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache

from headrace.core import forks
from headrace.core.modules import late

cache = late("headrace.codegen.machine.cache")

# The pool: a mutex, "there is work", "all is done" (128 bytes each, more than any system needs), then
# words: generation, workers that have not finished, function, data, workers wanted, key of the number.
_PLACE, _WORDS = 128, 6
_HEAD = r"""
@team_pool = external global i8
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
"""
_PLACES = r"""
  %work = getelementptr i8, ptr @team_pool, i64 128
  %done = getelementptr i8, ptr @team_pool, i64 256
  %generation = getelementptr i8, ptr @team_pool, i64 384
  %remaining = getelementptr i8, ptr @team_pool, i64 392
  %functionp = getelementptr i8, ptr @team_pool, i64 400
  %datap = getelementptr i8, ptr @team_pool, i64 408
  %wantedp = getelementptr i8, ptr @team_pool, i64 416
  %keyp = getelementptr i8, ptr @team_pool, i64 424
  %key64 = load i64, ptr %keyp
  %key = trunc i64 %key64 to i32
"""
_PARALLEL = r"""
define void @SYMBOL(ptr %function, ptr %data, i32 %count, i32 %flags) {
entry:
PLACES
  %all = zext i32 %count to i64
  %others = sub i64 %all, 1
  %l0 = call i32 @pthread_mutex_lock(ptr @team_pool)
  store ptr %function, ptr %functionp
  store ptr %data, ptr %datap
  store i64 %others, ptr %wantedp
  store i64 %others, ptr %remaining
  %g0 = load i64, ptr %generation
  %g1 = add i64 %g0, 1
  store i64 %g1, ptr %generation
  %b0 = call i32 @pthread_cond_broadcast(ptr %work)
  %u0 = call i32 @pthread_mutex_unlock(ptr @team_pool)
  call void %function(ptr %data)
  %l1 = call i32 @pthread_mutex_lock(ptr @team_pool)
  br label %await
await:
  %r0 = load i64, ptr %remaining
  %busy = icmp sgt i64 %r0, 0
  br i1 %busy, label %sleep, label %finished
sleep:
  %w0 = call i32 @pthread_cond_wait(ptr %done, ptr @team_pool)
  br label %await
finished:
  %u1 = call i32 @pthread_mutex_unlock(ptr @team_pool)
  ret void
}
"""
_WORKER = r"""
define void @SYMBOL(i64 %number) {
entry:
PLACES
  %mark = inttoptr i64 %number to ptr
  %s0 = call i32 @pthread_setspecific(i32 %key, ptr %mark)
  %l0 = call i32 @pthread_mutex_lock(ptr @team_pool)
  br label %look
look:
  %seen = phi i64 [ 0, %entry ], [ %seen, %rest ], [ %now, %called ], [ %now, %worked ]
  %now = load i64, ptr %generation
  %new = icmp ne i64 %now, %seen
  br i1 %new, label %called, label %rest
rest:
  %w0 = call i32 @pthread_cond_wait(ptr %work, ptr @team_pool)
  br label %look
called:
  %wanted = load i64, ptr %wantedp
  %mine = icmp sle i64 %number, %wanted
  br i1 %mine, label %run, label %look
run:
  %f = load ptr, ptr %functionp
  %d = load ptr, ptr %datap
  %u0 = call i32 @pthread_mutex_unlock(ptr @team_pool)
  call void %f(ptr %d)
  %l1 = call i32 @pthread_mutex_lock(ptr @team_pool)
  %r0 = load i64, ptr %remaining
  %r1 = sub i64 %r0, 1
  store i64 %r1, ptr %remaining
  %last = icmp eq i64 %r1, 0
  br i1 %last, label %tell, label %worked
tell:
  %b0 = call i32 @pthread_cond_broadcast(ptr %done)
  br label %worked
worked:
  br label %look
}
"""
_NUMBER = r"""
define i32 @SYMBOL() {
entry:
PLACES
  %mark = call ptr @pthread_getspecific(i32 %key)
  %word = ptrtoint ptr %mark to i64
  %number = trunc i64 %word to i32
  ret i32 %number
}
"""


class OwnTeam:
    """`start` before every use: it makes workers where there are none yet (also after a fork)."""

    def __init__(self, count: int, libc: ctypes.CDLL) -> None:
        self.count, self._libc, self._running = count, libc, False
        self._pool = (ctypes.c_char * (3 * _PLACE + 8 * _WORDS))()
        key = ctypes.c_uint32()
        if libc.pthread_key_create(ctypes.byref(key), None) != 0:
            raise OSError("no key for the numbers of threads")
        self._key = key.value
        self.parallel, self.number = self._code(_PARALLEL), self._code(_NUMBER)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64)
        self._worker = kind(self._code(_WORKER))
        forks.guard(forks.TEAM, lambda: lambda: None, self._forget)

    def _code(self, text: str) -> int:
        whole = _HEAD + text.replace("PLACES", _PLACES)
        imports = {"team_pool": ctypes.addressof(self._pool)}
        made: int = cache.kernel_address(whole, lambda symbol: whole.replace("SYMBOL", symbol), imports)
        return made

    def _forget(self) -> None:
        self._running = False

    def start(self) -> None:
        if self._running:
            return
        self._running = True
        address = ctypes.addressof(self._pool)
        ctypes.memset(address, 0, ctypes.sizeof(self._pool))
        self._libc.pthread_mutex_init(ctypes.c_void_p(address), None)
        for place in (_PLACE, 2 * _PLACE):
            self._libc.pthread_cond_init(ctypes.c_void_p(address + place), None)
        ctypes.c_int64.from_address(address + 3 * _PLACE + 40).value = self._key
        for number in range(1, self.count):
            name = f"headrace-{number}"
            threading.Thread(target=self._worker, args=(number,), name=name, daemon=True).start()


@lru_cache(maxsize=1)
def own_team(count: int) -> OwnTeam | None:
    """None where one thread is all, or the system has no such threads."""
    if count < 2:
        return None
    try:
        libc = ctypes.CDLL(None)
        return OwnTeam(count, libc) if hasattr(libc, "pthread_cond_wait") else None
    except (OSError, TypeError):  # TypeError: no such handle on Windows
        return None
