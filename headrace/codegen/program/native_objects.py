"""How native code reads lists and arrays of Python, as LLVM text: part of the loop of native_loop."""

OBJECTS = r"""
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
  %t0 = word(%object, 1)
  %is_array = icmp eq i64 %t0, %type
  br i1 %is_array, label %array, label %no
array:
  %np = getelementptr i8, ptr %object, i64 24
  %n32 = load i32, ptr %np
  %n = sext i32 %n32 to i64
  %d0 = word(%object, 7)
  %fp = getelementptr i8, ptr %object, i64 64
  %f32 = load i32, ptr %fp
  %f = sext i32 %f32 to i64
  %want_n, %want_d, %want_f, %want_c = words(%s, 0)
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
  *%have = word(%object, 4)
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
"""
