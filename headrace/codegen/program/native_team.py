"""How the threads of a team share work, as LLVM text: part of the loop of native_loop."""

TEAM = r"""
; job: function, buffers, params, work, grain, rt, parts, -, then a counter per part, 8 words apart.
; The work is cut into as many parts as threads were asked for, a part into a few stretches.  A thread
; begins with the part of its own number and then helps with the others: one that comes late, because
; the machine is busy, finds less left to do.
define internal void @share(ptr %job) #0 {
entry:
  %saved = alloca i32, align 4
  *%rtp = word(%job, 5)
  *%num = word(%rtp, 1)
  %t32 = call i32 %num()
  %t = sext i32 %t32 to i64
  *%fp, *%bp, *%pp, %work, %grain = words(%job, 0)
  %parts = word(%job, 6)
  %g1 = sub i64 %grain, 1
  %up = add i64 %work, %g1
  %blocks = udiv i64 %up, %grain
  %many = shl i64 %parts, 2
  %s0 = udiv i64 %blocks, %many
  %sz = icmp eq i64 %s0, 0
  %stretch = select i1 %sz, i64 1, i64 %s0
  call void @flush(ptr %saved)
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k1, %part_done ]
  %more = icmp slt i64 %k, %parts
  br i1 %more, label %part, label %done
part:
  %tk = add i64 %t, %k
  %r = urem i64 %tk, %parts
  %l0 = mul i64 %blocks, %r
  %low = udiv i64 %l0, %parts
  %r1 = add i64 %r, 1
  %h0 = mul i64 %blocks, %r1
  %high = udiv i64 %h0, %parts
  %c0 = shl i64 %r, 3
  %c1 = add i64 %c0, 8
  %counter = getelementptr i64, ptr %job, i64 %c1
  br label %inner
inner:
  %old = atomicrmw add ptr %counter, i64 %stretch monotonic, align 8
  %first = add i64 %low, %old
  %some = icmp slt i64 %first, %high
  br i1 %some, label %go, label %part_done
go:
  %l = add i64 %first, %stretch
  %lc = icmp slt i64 %l, %high
  %last = select i1 %lc, i64 %l, i64 %high
  %begin = mul i64 %first, %grain
  %e0 = mul i64 %last, %grain
  %ec = icmp slt i64 %e0, %work
  %end = select i1 %ec, i64 %e0, i64 %work
  call void %fp(ptr %bp, ptr %pp, i64 %begin, i64 %end, i64 %t)
  br label %inner
part_done:
  %k1 = add i64 %k, 1
  br label %outer
done:
  call void @unflush(ptr %saved)
  ret void
}

; job: instance, fork entry, code of a failure, then (from word 8) the number of the next branch.
; Each thread takes the next branch that nobody has, and walks its entries.
define internal void @branches(ptr %job) #0 {
entry:
  %saved = alloca i32, align 4
  *%instance, *%fork = words(%job, 0)
  %codep = getelementptr i64, ptr %job, i64 2
  %next = getelementptr i64, ptr %job, i64 8
  *%words = word(%instance, 0)
  *%rt = word(%instance, 3)
  *%num = word(%rt, 1)
  %t32 = call i32 %num()
  %t = sext i32 %t32 to i64
  %wide = word(%fork, 5)
  %own = mul i64 %t, %wide
  *%first_scratch = word(%instance, 4)
  %scratch = getelementptr i64, ptr %first_scratch, i64 %own
  %count = word(%fork, 6)
  call void @flush(ptr %saved)
  br label %head
head:
  %b = atomicrmw add ptr %next, i64 1 monotonic, align 8
  %more = icmp slt i64 %b, %count
  br i1 %more, label %body, label %done
body:
  %at0 = shl i64 %b, 1
  %at = add i64 %at0, 7
  %at1 = add i64 %at, 1
  %at3 = add i64 %at, 3
  %start = call i64 @word(ptr %fork, i64 %at)
  %number = call i64 @word(ptr %fork, i64 %at1)
  %end = call i64 @word(ptr %fork, i64 %at3)
  %position = getelementptr i64, ptr %words, i64 %start
  %code = call i64 @walk(ptr %instance, ptr %position, i64 %number, i64 %end, ptr %scratch,
                         i64 9223372036854775807)
  %good = icmp eq i64 %code, 0
  br i1 %good, label %head, label %bad
bad:
  store i64 %code, ptr %codep
  br label %done
done:
  call void @unflush(ptr %saved)
  ret void
}
"""
