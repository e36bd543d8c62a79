"""The loop that runs a program, as LLVM text.  codegen.native says what it does.

Written by hand: it is the same for every program, and nothing in it depends on shapes.
"""

from __future__ import annotations

import platform

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

; job: function, buffers, params, work, grain, rt, parts, -, then a counter per part, 8 words apart.
; The work is cut into as many parts as threads were asked for, a part into a few stretches.  A thread
; begins with the part of its own number and then helps with the others: one that comes late, because
; the machine is busy, finds less left to do.
define internal void @share(ptr %job) #0 {
entry:
  %saved = alloca i32, align 4
  %rt = call i64 @word(ptr %job, i64 5)
  %rtp = inttoptr i64 %rt to ptr
  %f1 = call i64 @word(ptr %rtp, i64 1)
  %num = inttoptr i64 %f1 to ptr
  %t32 = call i32 %num()
  %t = sext i32 %t32 to i64
  %f = call i64 @word(ptr %job, i64 0)
  %fp = inttoptr i64 %f to ptr
  %b = call i64 @word(ptr %job, i64 1)
  %bp = inttoptr i64 %b to ptr
  %p = call i64 @word(ptr %job, i64 2)
  %pp = inttoptr i64 %p to ptr
  %work = call i64 @word(ptr %job, i64 3)
  %grain = call i64 @word(ptr %job, i64 4)
  %parts = call i64 @word(ptr %job, i64 6)
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

define internal ptr @pointer(ptr %entry, i64 %i) #1 {
  %p = getelementptr ptr, ptr %entry, i64 %i
  %v = load ptr, ptr %p
  ret ptr %v
}

; bases[first + i] = the data of array i of the list, from `skip` on
define internal void @bind(ptr %list, i64 %skip, i64 %count, ptr %bases, i64 %first) #0 {
entry:
  %ip = getelementptr i8, ptr %list, i64 24
  %items = load ptr, ptr %ip
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %k = add i64 %skip, %i
  %object = call ptr @pointer(ptr %items, i64 %k)
  %dp = getelementptr i8, ptr %object, i64 16
  %data = load ptr, ptr %dp
  %b = add i64 %first, %i
  %bp = getelementptr ptr, ptr %bases, i64 %b
  store ptr %data, ptr %bp
  %i1 = add i64 %i, 1
  br label %head
done:
  ret void
}

; Whether the list's first arrays are what the program was made for.  spec, per input: dimensions,
; dtype, flags that must be set, the most holders it may have, the sizes.
define internal i1 @fits(ptr %list, i64 %count, ptr %spec, i64 %type) #0 {
entry:
  %ip = getelementptr i8, ptr %list, i64 24
  %items = load ptr, ptr %ip
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %good ]
  %s = phi ptr [ %spec, %entry ], [ %s1, %good ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %yes
body:
  %object = call ptr @pointer(ptr %items, i64 %i)
  %c0 = load i64, ptr %object
  %t0 = call i64 @word(ptr %object, i64 1)
  %is_array = icmp eq i64 %t0, %type
  br i1 %is_array, label %array, label %no
array:
  %np = getelementptr i8, ptr %object, i64 24
  %n32 = load i32, ptr %np
  %n = sext i32 %n32 to i64
  %d0 = call i64 @word(ptr %object, i64 7)
  %fp = getelementptr i8, ptr %object, i64 64
  %f32 = load i32, ptr %fp
  %f = sext i32 %f32 to i64
  %want_n = call i64 @word(ptr %s, i64 0)
  %want_d = call i64 @word(ptr %s, i64 1)
  %want_f = call i64 @word(ptr %s, i64 2)
  %want_c = call i64 @word(ptr %s, i64 3)
  %ok1 = icmp eq i64 %n, %want_n
  %ok2 = icmp eq i64 %d0, %want_d
  %fm = and i64 %f, %want_f
  %ok3 = icmp eq i64 %fm, %want_f
  %ok4 = icmp sle i64 %c0, %want_c
  %ok12 = and i1 %ok1, %ok2
  %ok34 = and i1 %ok3, %ok4
  %ok = and i1 %ok12, %ok34
  br i1 %ok, label %sizes, label %no
sizes:
  %have = call ptr @pointer(ptr %object, i64 4)
  %want = getelementptr i64, ptr %s, i64 4
  br label %shead
shead:
  %j = phi i64 [ 0, %sizes ], [ %j1, %sbody ]
  %smore = icmp slt i64 %j, %n
  br i1 %smore, label %sbody, label %good
sbody:
  %a = call i64 @word(ptr %have, i64 %j)
  %b = call i64 @word(ptr %want, i64 %j)
  %same = icmp eq i64 %a, %b
  %j1 = add i64 %j, 1
  br i1 %same, label %shead, label %no
good:
  %s1 = getelementptr i64, ptr %want, i64 %n
  %i1 = add i64 %i, 1
  br label %head
yes:
  ret i1 true
no:
  ret i1 false
}

; bases[first + k] = bases[1 + variables[k]]: updated where they are
define internal void @in_place(ptr %variables, i64 %count, ptr %bases, i64 %first) #0 {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %v = call i64 @word(ptr %variables, i64 %k)
  %v1 = add i64 %v, 1
  %data = call ptr @pointer(ptr %bases, i64 %v1)
  %b = add i64 %first, %k
  %bp = getelementptr ptr, ptr %bases, i64 %b
  store ptr %data, ptr %bp
  %k1 = add i64 %k, 1
  br label %head
done:
  ret void
}

define i64 @run(ptr %frame, ptr %list, i64 %how) #0 {
entry:
  %saved = alloca i32, align 4
  %words = call ptr @pointer(ptr %frame, i64 0)
  %bases = call ptr @pointer(ptr %frame, i64 2)
  %inputs = call i64 @word(ptr %frame, i64 6)
  %updates = call i64 @word(ptr %frame, i64 7)
  %fresh = call i64 @word(ptr %frame, i64 8)
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
  %spec = call ptr @pointer(ptr %frame, i64 5)
  %rt = call ptr @pointer(ptr %frame, i64 3)
  %type = call i64 @word(ptr %rt, i64 6)
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
  %pp = getelementptr ptr, ptr %frame, i64 9
  store ptr %words, ptr %pp
  %np = getelementptr i64, ptr %frame, i64 10
  store i64 0, ptr %np
  br label %go
go:
  call void @flush(ptr %saved)
  %code = call i64 @walk(ptr %frame)
  call void @unflush(ptr %saved)
  ret i64 %code
}

define internal i64 @walk(ptr %frame) #0 {
begin:
  %job = alloca [520 x i64], align 64
  %count = call i64 @word(ptr %frame, i64 1)
  %bases = call ptr @pointer(ptr %frame, i64 2)
  %rt = call ptr @pointer(ptr %frame, i64 3)
  %scratch = call ptr @pointer(ptr %frame, i64 4)
  %position = call ptr @pointer(ptr %frame, i64 9)
  %number = call i64 @word(ptr %frame, i64 10)
  %positionp = getelementptr ptr, ptr %frame, i64 9
  %numberp = getelementptr i64, ptr %frame, i64 10
  %patience = call i64 @word(ptr %rt, i64 7)
  %now = call i64 @ticks()
  %until = add i64 %now, %patience
  %times = call ptr @pointer(ptr %frame, i64 11)
  %timed = icmp ne ptr %times, null
  br label %head
head:
  %entry = phi ptr [ %position, %begin ], [ %following, %next ], [ %following, %clock ]
  %i = phi i64 [ %number, %begin ], [ %i1, %next ], [ %i1, %clock ]
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
                                  i64 2, label %gemm32
                                  i64 3, label %gemm64
                                  i64 4, label %check
                                  i64 5, label %fill
                                  i64 6, label %own ]

kernel:
  %kf = call i64 @word(ptr %entry, i64 2)
  %kfp = inttoptr i64 %kf to ptr
  %kp = call i64 @word(ptr %entry, i64 3)
  %kpp = inttoptr i64 %kp to ptr
  %work = call i64 @word(ptr %entry, i64 4)
  %threads = call i64 @word(ptr %entry, i64 5)
  %grain = call i64 @word(ptr %entry, i64 6)
  %kn = call i64 @word(ptr %entry, i64 7)
  %pairs = getelementptr i64, ptr %entry, i64 8
  call void @pointers(ptr %pairs, i64 %kn, ptr %bases, ptr %scratch)
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %single, label %team
single:
  call void %kfp(ptr %scratch, ptr %kpp, i64 0, i64 %work, i64 0)
  br label %next
team:
  store i64 %kf, ptr %job
  %j1 = getelementptr i64, ptr %job, i64 1
  %si = ptrtoint ptr %scratch to i64
  store i64 %si, ptr %j1
  %j2 = getelementptr i64, ptr %job, i64 2
  store i64 %kp, ptr %j2
  %j3 = getelementptr i64, ptr %job, i64 3
  store i64 %work, ptr %j3
  %j4 = getelementptr i64, ptr %job, i64 4
  store i64 %grain, ptr %j4
  %j5 = getelementptr i64, ptr %job, i64 5
  %ri = ptrtoint ptr %rt to i64
  store i64 %ri, ptr %j5
  %j6 = getelementptr i64, ptr %job, i64 6
  store i64 %threads, ptr %j6
  %counters = getelementptr i64, ptr %job, i64 8
  %cbytes = shl i64 %threads, 6
  call void @llvm.memset.p0.i64(ptr align 8 %counters, i8 0, i64 %cbytes, i1 false)
  %pf = call i64 @word(ptr %rt, i64 0)
  %pfp = inttoptr i64 %pf to ptr
  %th32 = trunc i64 %threads to i32
  call void %pfp(ptr @share, ptr %job, i32 %th32, i32 0)
  br label %next

; execute entry: kind, length, primitive, stream, arguments, threads, count, pairs, memories
execute:
  %prim = call i64 @word(ptr %entry, i64 2)
  %primp = inttoptr i64 %prim to ptr
  %stream = call i64 @word(ptr %entry, i64 3)
  %streamp = inttoptr i64 %stream to ptr
  %args = call i64 @word(ptr %entry, i64 4)
  %argsp = inttoptr i64 %args to ptr
  %ath = call i64 @word(ptr %entry, i64 5)
  %an = call i64 @word(ptr %entry, i64 6)
  %apairs = getelementptr i64, ptr %entry, i64 7
  call void @pointers(ptr %apairs, i64 %an, ptr %bases, ptr %scratch)
  %an2 = shl i64 %an, 1
  %memories = getelementptr i64, ptr %apairs, i64 %an2
  %sf = call i64 @word(ptr %rt, i64 3)
  %sfp = inttoptr i64 %sf to ptr
  br label %ahead
ahead:
  %ai = phi i64 [ 0, %execute ], [ %ai1, %abody ]
  %amore = icmp slt i64 %ai, %an
  br i1 %amore, label %abody, label %acall
abody:
  %mp = getelementptr ptr, ptr %memories, i64 %ai
  %mem = load ptr, ptr %mp
  %hp = getelementptr ptr, ptr %scratch, i64 %ai
  %handle = load ptr, ptr %hp
  %sr = call i32 %sfp(ptr %mem, ptr %handle)
  %ai1 = add i64 %ai, 1
  br label %ahead
acall:
  %nf = call i64 @word(ptr %rt, i64 5)
  %nfp = inttoptr i64 %nf to ptr
  %ath32 = trunc i64 %ath to i32
  call void %nfp(i32 %ath32)
  %ef = call i64 @word(ptr %rt, i64 4)
  %efp = inttoptr i64 %ef to ptr
  %an32 = trunc i64 %an to i32
  %er = call i32 %efp(ptr %primp, ptr %streamp, i32 %an32, ptr %argsp)
  %good = icmp eq i32 %er, 0
  br i1 %good, label %next, label %broken
broken:
  store i64 %i, ptr %numberp
  ret i64 3

; gemm entry: kind, length, function, transpose a, transpose b, m, n, k, lda, ldb, ldc, alpha, beta,
;             batch, step a, step b, step c, (base, offset) of a, b, c
gemm32:
  br label %gemm
gemm64:
  br label %gemm
gemm:
  %wide = phi i1 [ false, %gemm32 ], [ true, %gemm64 ]
  %gf = call i64 @word(ptr %entry, i64 2)
  %gfp = inttoptr i64 %gf to ptr
  %ta0 = call i64 @word(ptr %entry, i64 3)
  %ta = trunc i64 %ta0 to i32
  %tb0 = call i64 @word(ptr %entry, i64 4)
  %tb = trunc i64 %tb0 to i32
  %m0 = call i64 @word(ptr %entry, i64 5)
  %m = trunc i64 %m0 to i32
  %n0 = call i64 @word(ptr %entry, i64 6)
  %n = trunc i64 %n0 to i32
  %k0 = call i64 @word(ptr %entry, i64 7)
  %k = trunc i64 %k0 to i32
  %lda0 = call i64 @word(ptr %entry, i64 8)
  %lda = trunc i64 %lda0 to i32
  %ldb0 = call i64 @word(ptr %entry, i64 9)
  %ldb = trunc i64 %ldb0 to i32
  %ldc0 = call i64 @word(ptr %entry, i64 10)
  %ldc = trunc i64 %ldc0 to i32
  %alpha0 = call i64 @word(ptr %entry, i64 11)
  %alpha = bitcast i64 %alpha0 to double
  %beta0 = call i64 @word(ptr %entry, i64 12)
  %beta = bitcast i64 %beta0 to double
  %batch = call i64 @word(ptr %entry, i64 13)
  %stepa = call i64 @word(ptr %entry, i64 14)
  %stepb = call i64 @word(ptr %entry, i64 15)
  %stepc = call i64 @word(ptr %entry, i64 16)
  %gpairs = getelementptr i64, ptr %entry, i64 17
  call void @pointers(ptr %gpairs, i64 3, ptr %bases, ptr %scratch)
  %pa = load ptr, ptr %scratch
  %pb1 = getelementptr ptr, ptr %scratch, i64 1
  %pb = load ptr, ptr %pb1
  %pc1 = getelementptr ptr, ptr %scratch, i64 2
  %pc = load ptr, ptr %pc1
  %alpha32 = fptrunc double %alpha to float
  %beta32 = fptrunc double %beta to float
  br label %ghead
ghead:
  %g = phi i64 [ 0, %gemm ], [ %g1, %gnext ]
  %gmore = icmp slt i64 %g, %batch
  br i1 %gmore, label %gbody, label %next
gbody:
  %ao = mul i64 %g, %stepa
  %a = getelementptr i8, ptr %pa, i64 %ao
  %bo = mul i64 %g, %stepb
  %b = getelementptr i8, ptr %pb, i64 %bo
  %co = mul i64 %g, %stepc
  %c = getelementptr i8, ptr %pc, i64 %co
  br i1 %wide, label %dgemm, label %sgemm
sgemm:
  call void %gfp(i32 101, i32 %ta, i32 %tb, i32 %m, i32 %n, i32 %k, float %alpha32, ptr %a,
                 i32 %lda, ptr %b, i32 %ldb, float %beta32, ptr %c, i32 %ldc)
  br label %gnext
dgemm:
  call void %gfp(i32 101, i32 %ta, i32 %tb, i32 %m, i32 %n, i32 %k, double %alpha, ptr %a,
                 i32 %lda, ptr %b, i32 %ldb, double %beta, ptr %c, i32 %ldc)
  br label %gnext
gnext:
  %g1 = add i64 %g, 1
  br label %ghead

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
  %fbytes = call i64 @word(ptr %entry, i64 2)
  %fpairs = getelementptr i64, ptr %entry, i64 3
  call void @pointers(ptr %fpairs, i64 1, ptr %bases, ptr %scratch)
  %fillp = load ptr, ptr %scratch
  call void @llvm.memset.p0.i64(ptr %fillp, i8 0, i64 %fbytes, i1 false)
  br label %next

; oneDNN's own product: kind, length, function, transpose a, transpose b (as letters), m, n, k, lda,
;                       ldb, ldc, alpha, beta, threads, (base, offset) of a, b, c
own:
  %wf = call i64 @word(ptr %entry, i64 2)
  %wfp = inttoptr i64 %wf to ptr
  %wta0 = call i64 @word(ptr %entry, i64 3)
  %wta = trunc i64 %wta0 to i8
  %wtb0 = call i64 @word(ptr %entry, i64 4)
  %wtb = trunc i64 %wtb0 to i8
  %wm = call i64 @word(ptr %entry, i64 5)
  %wn = call i64 @word(ptr %entry, i64 6)
  %wk = call i64 @word(ptr %entry, i64 7)
  %wlda = call i64 @word(ptr %entry, i64 8)
  %wldb = call i64 @word(ptr %entry, i64 9)
  %wldc = call i64 @word(ptr %entry, i64 10)
  %walpha0 = call i64 @word(ptr %entry, i64 11)
  %walpha1 = bitcast i64 %walpha0 to double
  %walpha = fptrunc double %walpha1 to float
  %wbeta0 = call i64 @word(ptr %entry, i64 12)
  %wbeta1 = bitcast i64 %wbeta0 to double
  %wbeta = fptrunc double %wbeta1 to float
  %wth = call i64 @word(ptr %entry, i64 13)
  %wth32 = trunc i64 %wth to i32
  %wnf = call i64 @word(ptr %rt, i64 5)
  %wnfp = inttoptr i64 %wnf to ptr
  call void %wnfp(i32 %wth32)
  %wpairs = getelementptr i64, ptr %entry, i64 14
  call void @pointers(ptr %wpairs, i64 3, ptr %bases, ptr %scratch)
  %wa = load ptr, ptr %scratch
  %wb1 = getelementptr ptr, ptr %scratch, i64 1
  %wb = load ptr, ptr %wb1
  %wc1 = getelementptr ptr, ptr %scratch, i64 2
  %wc = load ptr, ptr %wc1
  %wr = call i32 %wfp(i8 %wta, i8 %wtb, i64 %wm, i64 %wn, i64 %wk, float %walpha, ptr %wa,
                      i64 %wlda, ptr %wb, i64 %wldb, float %wbeta, ptr %wc, i64 %wldc)
  %wgood = icmp eq i32 %wr, 0
  br i1 %wgood, label %next, label %broken

next:
  %length = call i64 @word(ptr %entry, i64 1)
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
    machine = platform.machine()
    if machine in ("x86_64", "AMD64"):
        return _LOOP + _FLUSH + _TICKS.format(counter="readcyclecounter"), 1 << 29
    if machine in ("aarch64", "arm64"):
        return _LOOP + _NO_FLUSH + _TICKS.format(counter="readsteadycounter"), 1 << 23
    return _LOOP + _NO_FLUSH + _NO_TICKS, 1
