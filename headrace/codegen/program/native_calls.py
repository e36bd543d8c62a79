"""Entries that call libraries, as blocks of the function @walk (native_loop): oneDNN's primitives and
its products.

A block finds its entry in %entry and this run's arrays in %bases; it ends at %next, or at %broken where
the library refused.
"""

from __future__ import annotations

CALLS = r"""
; repeat entry: an execute entry with a pair more before its pairs; done if the byte there is not 0
repeat:
  %doubt = call ptr @address(ptr %entry, i64 7, ptr %bases)
  %doubted = load i8, ptr %doubt
  %is_doubted = icmp ne i8 %doubted, 0
  br i1 %is_doubted, label %execute, label %next

; execute entry: kind, length, primitive, stream, arguments, threads, count, pairs, memories
execute:
  %first_pair = phi i64 [ 7, %dispatch ], [ 9, %repeat ]
  *%primp, *%streamp, *%argsp, %ath, %an = words(%entry, 2)
  %apairs = getelementptr i64, ptr %entry, i64 %first_pair
  call void @pointers(ptr %apairs, i64 %an, ptr %bases, ptr %scratch)
  %an2 = shl i64 %an, 1
  %memories = getelementptr i64, ptr %apairs, i64 %an2
  *%sfp = word(%rt, 3)
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
  *%nfp = word(%rt, 5)
  %ath32 = trunc i64 %ath to i32
  call void %nfp(i32 %ath32)
  *%efp = word(%rt, 4)
  %an32 = trunc i64 %an to i32
  %er = call i32 %efp(ptr %primp, ptr %streamp, i32 %an32, ptr %argsp)
  %good = icmp eq i32 %er, 0
  br i1 %good, label %next, label %broken
broken:
  store i64 %i, ptr %numberp
  ret i64 3

; oneDNN's own product: kind, length, function, transpose a, transpose b (as letters), m, n, k, lda,
;                       ldb, ldc, threads, (base, offset) of a, b, c
own:
  *%wfp, %wta0 = words(%entry, 2)
  %wta = trunc i64 %wta0 to i8
  %wtb0 = word(%entry, 4)
  %wtb = trunc i64 %wtb0 to i8
  %wm, %wn, %wk, %wlda, %wldb, %wldc, %wth = words(%entry, 5)
  %wth32 = trunc i64 %wth to i32
  *%wnfp = word(%rt, 5)
  call void %wnfp(i32 %wth32)
  %wpairs = getelementptr i64, ptr %entry, i64 12
  call void @pointers(ptr %wpairs, i64 3, ptr %bases, ptr %scratch)
  %wa = load ptr, ptr %scratch
  %wb1 = getelementptr ptr, ptr %scratch, i64 1
  %wb = load ptr, ptr %wb1
  %wc1 = getelementptr ptr, ptr %scratch, i64 2
  %wc = load ptr, ptr %wc1
  %wr = call i32 %wfp(i8 %wta, i8 %wtb, i64 %wm, i64 %wn, i64 %wk, float 1.0, ptr %wa,
                      i64 %wlda, ptr %wb, i64 %wldb, float 0.0, ptr %wc, i64 %wldc)
  %wgood = icmp eq i32 %wr, 0
  br i1 %wgood, label %next, label %broken
"""
