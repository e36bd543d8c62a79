"""The loop that runs a program, as LLVM text.  codegen.program.native says what it does.

Written by hand: it is the same for every program, and nothing in it depends on shapes.
"""

from __future__ import annotations

import platform

from headrace.codegen.machine.text_words import expanded
from headrace.codegen.program.native_calls import CALLS
from headrace.codegen.program.native_control import CONTROL
from headrace.codegen.program.native_objects import OBJECTS
from headrace.codegen.program.native_team import TEAM

_LOOP = r"""
; kernel entry: kind, length, function, params, work, threads, grain, count, (base, offset)*
define internal void @pointers(ptr %pairs, i64 %count, ptr %bases, ptr %out) #0 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %at = shl i64 %i, 1
  %pb = getelementptr i64, ptr %pairs, i64 %at
  %base = load i64, ptr %pb
  %po = getelementptr i64, ptr %pb, i64 1
  %offset = load i64, ptr %po
  %slot = getelementptr ptr, ptr %bases, i64 %base
  %start = load ptr, ptr %slot
  %address = getelementptr i8, ptr %start, i64 %offset
  %target = getelementptr ptr, ptr %out, i64 %i
  store ptr %address, ptr %target
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

define internal i64 @word(ptr %entry, i64 %i) #1 {
  %p = getelementptr i64, ptr %entry, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}

define internal ptr @pointer(ptr %entry, i64 %i) #1 {
  %p = getelementptr ptr, ptr %entry, i64 %i
  %v = load ptr, ptr %p
  ret ptr %v
}

define i64 @run(ptr %instance, ptr %list, i64 %how) #0 {
entry:
  %saved = alloca i32, align 4
  *%words = word(%instance, 0)
  *%bases = word(%instance, 2)
  %inputs, %updates, %fresh = words(%instance, 6)
  %first_fresh0 = add i64 %inputs, %updates
  %first_fresh = add i64 %first_fresh0, 1
  %first_update = add i64 %inputs, 1
  switch i64 %how, label %go [ i64 1, label %plain
                               i64 2, label %checked ]
plain:
  %all = add i64 %first_fresh0, %fresh
  call void @bind(ptr %list, i64 0, i64 %all, ptr %bases, i64 1)
  br label %begin
checked:
  *%spec = word(%instance, 5)
  *%rt = word(%instance, 3)
  %type = word(%rt, 6)
  %checks = getelementptr i64, ptr %spec, i64 %updates
  %fit = call i1 @fits(ptr %list, i64 %inputs, ptr %checks, i64 %type)
  br i1 %fit, label %fitting, label %misfit
misfit:
  ret i64 4
fitting:
  call void @bind(ptr %list, i64 0, i64 %inputs, ptr %bases, i64 1)
  call void @in_place(ptr %spec, i64 %updates, ptr %bases, i64 %first_update)
  call void @bind(ptr %list, i64 %inputs, i64 %fresh, ptr %bases, i64 %first_fresh)
  br label %begin
begin:
  %pp = getelementptr ptr, ptr %instance, i64 9
  store ptr %words, ptr %pp
  %np = getelementptr i64, ptr %instance, i64 10
  store i64 0, ptr %np
  br label %go
go:
  call void @flush(ptr %saved)
  *%position, %number = words(%instance, 9)
  %count = word(%instance, 1)
  *%scratch = word(%instance, 4)
  *%table = word(%instance, 3)
  %patience = word(%table, 7)
  %now = call i64 @ticks()
  %until = add i64 %now, %patience
  %code = call i64 @walk(ptr %instance, ptr %position, i64 %number, i64 %count, ptr %scratch, i64 %until)
  call void @unflush(ptr %saved)
  ret i64 %code
}

; Entries from `number`, at `position`, up to `count`.
define internal i64 @walk(ptr %instance, ptr %position, i64 %number, i64 %count, ptr %scratch,
                          i64 %until) #0 {
begin:
  %job = alloca [520 x i64], align 64
  *%words = word(%instance, 0)
  *%bases, *%rt = words(%instance, 2)
  %positionp = getelementptr ptr, ptr %instance, i64 9
  %numberp = getelementptr i64, ptr %instance, i64 10
  *%times = word(%instance, 11)
  %timed = icmp ne ptr %times, null
  br label %head
head:
  %entry = phi ptr [ %position, %begin ], [ %following, %next ], [ %following, %clock ], [ %target, %jump ]
  %i = phi i64 [ %number, %begin ], [ %i1, %next ], [ %i1, %clock ], [ %target_number, %jump ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %finished
finished:
  ret i64 0
body:
  %time = call i64 @ticks()
  %late = icmp sgt i64 %time, %until
  br i1 %late, label %paused, label %dispatch
paused:
  store ptr %entry, ptr %positionp
  store i64 %i, ptr %numberp
  ret i64 2
dispatch:
  %kind = load i64, ptr %entry
  switch i64 %kind, label %next [ i64 0, label %kernel
                                  i64 1, label %execute
                                  i64 2, label %check
                                  i64 3, label %fill
                                  i64 4, label %own
                                  i64 5, label %jump
                                  i64 6, label %unless
                                  i64 7, label %lea
                                  i64 8, label %swap
                                  i64 9, label %copy
                                  i64 10, label %cell
                                  i64 11, label %push
                                  i64 12, label %pop
                                  i64 13, label %row
                                  i64 14, label %repeat
                                  i64 15, label %fork
                                  i64 16, label %limit ]

kernel:
  *%kfp, *%kpp, %work, %threads, %grain, %kn = words(%entry, 2)
  %pairs = getelementptr i64, ptr %entry, i64 8
  call void @pointers(ptr %pairs, i64 %kn, ptr %bases, ptr %scratch)
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %single, label %team
single:
  call void %kfp(ptr %scratch, ptr %kpp, i64 0, i64 %work, i64 0)
  br label %next
team:
  words(%job, 0) = ptr %kfp, ptr %scratch, ptr %kpp, i64 %work, i64 %grain, ptr %rt, i64 %threads
  %counters = getelementptr i64, ptr %job, i64 8
  %cbytes = shl i64 %threads, 6
  call void @llvm.memset.p0.i64(ptr align 8 %counters, i8 0, i64 %cbytes, i1 false)
  *%pfp = word(%rt, 0)
  %th32 = trunc i64 %threads to i32
  call void %pfp(ptr @share, ptr %job, i32 %th32, i32 0)
  br label %next

"""
_REST = r"""
; check entry: kind, length, base, offset
check:
  %cpairs = getelementptr i64, ptr %entry, i64 2
  call void @pointers(ptr %cpairs, i64 1, ptr %bases, ptr %scratch)
  %cp = load ptr, ptr %scratch
  %found = load i64, ptr %cp
  %fine = icmp eq i64 %found, 9223372036854775807
  br i1 %fine, label %next, label %failed
failed:
  store i64 %i, ptr %numberp
  ret i64 1

; fill entry: kind, length, bytes, base, offset: zeros
fill:
  %fbytes = word(%entry, 2)
  %fpairs = getelementptr i64, ptr %entry, i64 3
  call void @pointers(ptr %fpairs, i64 1, ptr %bases, ptr %scratch)
  %fillp = load ptr, ptr %scratch
  call void @llvm.memset.p0.i64(ptr %fillp, i8 0, i64 %fbytes, i1 false)
  br label %next

; jump entry: kind, length, words from the start, number of the entry there
jump:
  %jump_words = word(%entry, 2)
  %target = getelementptr i64, ptr %words, i64 %jump_words
  %target_number = word(%entry, 3)
  br label %head

; fork entry: kind, length, where the last branch ends, its number, threads, words of scratch of a
;             thread, branches, (words from the start, number) of each branch's first entry and of the end
fork:
  %fork_threads = word(%entry, 4)
  %fork_threads32 = trunc i64 %fork_threads to i32
  words(%job, 0) = ptr %instance, ptr %entry, i64 0
  words(%job, 8) = i64 0
  *%fork_fp = word(%rt, 0)
  call void %fork_fp(ptr @branches, ptr %job, i32 %fork_threads32, i32 0)
  %fork_result = word(%job, 2)
  %fork_good = icmp eq i64 %fork_result, 0
  br i1 %fork_good, label %jump, label %fork_failed
fork_failed:
  ret i64 %fork_result

; unless entry: kind, length, where to go if the byte is 0, its number, (base, offset) of the byte
unless:
  %flag = call ptr @address(ptr %entry, i64 4, ptr %bases)
  %truth = load i8, ptr %flag
  %is_true = icmp ne i8 %truth, 0
  br i1 %is_true, label %next, label %jump

; lea entry: kind, length, (base, -), (base, offset): the first base becomes the address
lea:
  %lea_from = call ptr @address(ptr %entry, i64 4, ptr %bases)
  call void @set_base(ptr %entry, i64 2, ptr %bases, ptr %lea_from)
  br label %next

; swap entry: kind, length, (base, -), (base, -)
swap:
  %first_base = call ptr @address(ptr %entry, i64 2, ptr %bases)
  %second_base = call ptr @address(ptr %entry, i64 4, ptr %bases)
  call void @set_base(ptr %entry, i64 2, ptr %bases, ptr %second_base)
  call void @set_base(ptr %entry, i64 4, ptr %bases, ptr %first_base)
  br label %next

; copy entry: kind, length, bytes, (base, offset) from, to
copy:
  %copied = word(%entry, 2)
  %copy_from = call ptr @address(ptr %entry, i64 3, ptr %bases)
  %copy_to = call ptr @address(ptr %entry, i64 5, ptr %bases)
  call void @llvm.memmove.p0.p0.i64(ptr %copy_to, ptr %copy_from, i64 %copied, i1 false)
  br label %next

cell:
  %cell_code = call i64 @cell(ptr %entry, ptr %bases)
  switch i64 %cell_code, label %next [ i64 1, label %misused
                                       i64 2, label %jump ]
push:
  %pushed = call i64 @push(ptr %entry, ptr %bases)
  %has_room = icmp eq i64 %pushed, 0
  br i1 %has_room, label %next, label %full
full:
  store ptr %entry, ptr %positionp
  store i64 %i, ptr %numberp
  ret i64 6
pop:
  %popped = call i64 @pop(ptr %entry, ptr %bases)
  %had_some = icmp eq i64 %popped, 0
  br i1 %had_some, label %next, label %misused
row:
  %row_code = call i64 @row(ptr %entry, ptr %bases)
  %row_ok = icmp eq i64 %row_code, 0
  br i1 %row_ok, label %next, label %misused
limit:
  call void @limit(ptr %entry, ptr %bases)
  br label %next
misused:
  store i64 %i, ptr %numberp
  ret i64 5

next:
  %length = word(%entry, 1)
  %following = getelementptr i64, ptr %entry, i64 %length
  %i1 = add i64 %i, 1
  br i1 %timed, label %clock, label %head
clock:
  %end = call i64 @ticks()
  %spent = sub i64 %end, %time
  %timep = getelementptr i64, ptr %times, i64 %i
  %before = load i64, ptr %timep
  %sum = add i64 %before, %spent
  store i64 %sum, ptr %timep
  br label %head
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
attributes #0 = { nounwind }
attributes #1 = { nounwind alwaysinline }
"""

# As in TF, numbers too small for a full mantissa count as zero while a step runs (core.denormals).
_FLUSH = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal void @flush(ptr %saved) #0 {
  %new = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %old = load i32, ptr %saved
  %set = or i32 %old, 32832
  store i32 %set, ptr %new
  call void @llvm.x86.sse.ldmxcsr(ptr %new)
  ret void
}
define internal void @unflush(ptr %saved) #0 {
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
"""
_NO_FLUSH = """
define internal void @flush(ptr %saved) #0 {
  ret void
}
define internal void @unflush(ptr %saved) #0 {
  ret void
}
"""


# How time passes for a program; about a quarter of a second until it pauses.
_TICKS = """
declare i64 @llvm.{counter}()
define internal i64 @ticks() #1 {{
  %t = call i64 @llvm.{counter}()
  ret i64 %t
}}
"""
_NO_TICKS = "define internal i64 @ticks() #1 {\n  ret i64 0\n}\n"


def text() -> tuple[str, int]:
    """The loop for this processor, and how many ticks it runs before it pauses."""
    machine, loop = platform.machine(), expanded(_LOOP + CALLS + _REST + TEAM + OBJECTS + CONTROL)
    if machine in ("x86_64", "AMD64"):
        return loop + _FLUSH + _TICKS.format(counter="readcyclecounter"), 1 << 29
    if machine in ("aarch64", "arm64"):
        return loop + _NO_FLUSH + _TICKS.format(counter="readsteadycounter"), 1 << 23
    return loop + _NO_FLUSH + _NO_TICKS, 1
