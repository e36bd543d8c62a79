"""Jumps, cells of arrays and stacks, as LLVM text: part of the loop of native_loop.

A cell's byte: 0 empty, 1 written, 2 read and gone, 3 read.  What is refused here is done again by the
reference, which says in TF's words what is wrong.
"""

EMPTY, WRITTEN, GONE, READ = range(4)
# What is done with a cell: see `cell`, `row`.
TAKE, LOOK, PUT, ADD, SUM, REST, HOLES, TAKE_SOME, LOOK_SOME = range(9)

CONTROL = r"""
define internal ptr @address(ptr %entry, i64 %i, ptr %bases) #1 {
  %b = call i64 @word(ptr %entry, i64 %i)
  %start = call ptr @pointer(ptr %bases, i64 %b)
  %i1 = add i64 %i, 1
  %offset = call i64 @word(ptr %entry, i64 %i1)
  %address = getelementptr i8, ptr %start, i64 %offset
  ret ptr %address
}

define internal void @set_base(ptr %entry, i64 %i, ptr %bases, ptr %value) #1 {
  %b = call i64 @word(ptr %entry, i64 %i)
  %slot = getelementptr ptr, ptr %bases, i64 %b
  store ptr %value, ptr %slot
  ret void
}

; cell entry: kind, length, where to go on 2, its number, how, bytes of a cell, cells, bytes of the
;             index, (base, -) of the cell, (base, offset) of the array, of the index, of the flags
; how: 0 read once, 1 read, 2 write, 3 write or, where written already, go elsewhere to add,
;      4 read a sum: an empty cell is zeros
; Gives 0, 1 for what is refused, 2 to go elsewhere.
define internal i64 @cell(ptr %entry, ptr %bases) #0 {
begin:
  %how, %bytes, %cells, %width = words(%entry, 4)
  %array = call ptr @address(ptr %entry, i64 10, ptr %bases)
  %index = call ptr @address(ptr %entry, i64 12, ptr %bases)
  %flags = call ptr @address(ptr %entry, i64 14, ptr %bases)
  %is_wide = icmp eq i64 %width, 8
  br i1 %is_wide, label %wide, label %narrow
wide:
  %i64 = load i64, ptr %index
  br label %found
narrow:
  %i32 = load i32, ptr %index
  %i32w = sext i32 %i32 to i64
  br label %found
found:
  %i = phi i64 [ %i64, %wide ], [ %i32w, %narrow ]
  %inside = icmp ult i64 %i, %cells
  br i1 %inside, label %use, label %refused
use:
  %at = mul i64 %i, %bytes
  %cell = getelementptr i8, ptr %array, i64 %at
  call void @set_base(ptr %entry, i64 8, ptr %bases, ptr %cell)
  %flag = getelementptr i8, ptr %flags, i64 %i
  %old = load i8, ptr %flag
  switch i64 %how, label %refused [ i64 0, label %take
                                    i64 1, label %look
                                    i64 2, label %put
                                    i64 3, label %add
                                    i64 4, label %sum ]
take:
  %take_ok = icmp eq i8 %old, 1
  br i1 %take_ok, label %gone, label %refused
gone:
  store i8 2, ptr %flag
  ret i64 0
look:
  %odd = and i8 %old, 1
  %look_ok = icmp eq i8 %odd, 1
  br i1 %look_ok, label %seen, label %refused
seen:
  store i8 3, ptr %flag
  ret i64 0
put:
  %put_ok = icmp eq i8 %old, 0
  br i1 %put_ok, label %fresh, label %refused
fresh:
  store i8 1, ptr %flag
  ret i64 0
add:
  switch i8 %old, label %refused [ i8 0, label %fresh
                                   i8 1, label %again ]
again:
  ret i64 2
sum:
  switch i8 %old, label %refused [ i8 0, label %zeros
                                   i8 1, label %gone ]
zeros:
  call void @llvm.memset.p0.i64(ptr %cell, i8 0, i64 %bytes, i1 false)
  store i8 2, ptr %flag
  ret i64 0
refused:
  ret i64 1
}

; push entry: kind, length, bytes, room, (base, -) of the place, (base, offset) of the stack, of its
;             height
define internal i64 @push(ptr %entry, ptr %bases) #0 {
begin:
  %bytes, %room = words(%entry, 2)
  %stack = call ptr @address(ptr %entry, i64 6, ptr %bases)
  %top = call ptr @address(ptr %entry, i64 8, ptr %bases)
  %height = load i64, ptr %top
  %fits = icmp slt i64 %height, %room
  br i1 %fits, label %go, label %full
go:
  %at = mul i64 %height, %bytes
  %place = getelementptr i8, ptr %stack, i64 %at
  call void @set_base(ptr %entry, i64 4, ptr %bases, ptr %place)
  %higher = add i64 %height, 1
  store i64 %higher, ptr %top
  ret i64 0
full:
  ret i64 1
}

; pop entry: kind, length, bytes, (base, -) of the place, (base, offset) of the stack, of its height
define internal i64 @pop(ptr %entry, ptr %bases) #0 {
begin:
  %bytes = word(%entry, 2)
  %stack = call ptr @address(ptr %entry, i64 5, ptr %bases)
  %top = call ptr @address(ptr %entry, i64 7, ptr %bases)
  %height = load i64, ptr %top
  %some = icmp sgt i64 %height, 0
  br i1 %some, label %go, label %empty
go:
  %lower = sub i64 %height, 1
  store i64 %lower, ptr %top
  %at = mul i64 %lower, %bytes
  %place = getelementptr i8, ptr %stack, i64 %at
  call void @set_base(ptr %entry, i64 3, ptr %bases, ptr %place)
  ret i64 0
empty:
  ret i64 1
}

; How many cells there are up to the last one that is not empty; at least one.
define internal i64 @filled(ptr %flags, i64 %cells) #0 {
begin:
  br label %head
head:
  %n = phi i64 [ %cells, %begin ], [ %i, %body ]
  %more = icmp sgt i64 %n, 1
  br i1 %more, label %body, label %done
body:
  %i = sub i64 %n, 1
  %flag = getelementptr i8, ptr %flags, i64 %i
  %old = load i8, ptr %flag
  %is_empty = icmp eq i8 %old, 0
  br i1 %is_empty, label %head, label %done
done:
  ret i64 %n
}

; limit entry: kind, length, address of a word, cells, rows of a cell, (base, offset) of the flags: the
;              word becomes the number of rows up to the last cell that is not empty
define internal void @limit(ptr %entry, ptr %bases) #0 {
  *%word, %cells, %rows = words(%entry, 2)
  %flags = call ptr @address(ptr %entry, i64 5, ptr %bases)
  %some = call i64 @filled(ptr %flags, i64 %cells)
  %count = mul i64 %some, %rows
  store i64 %count, ptr %word
  ret void
}

; row entry: kind, length, how, bytes of a cell, cells, (base, offset) of the array, of the flags: all
;            cells at once, as `cell` does it with each; how = 5: empty ones become zeros and stay
;            empty; how = 6: so do the empty ones before the last of the others, and the first one;
;            how = 7, 8: as 0 and 1, and empty ones are read as zeros, unless the first one is.
;            Gives 0, or 1 where one refuses
define internal i64 @row(ptr %entry, ptr %bases) #0 {
begin:
  %how, %bytes, %all = words(%entry, 2)
  %array = call ptr @address(ptr %entry, i64 5, ptr %bases)
  %flags = call ptr @address(ptr %entry, i64 7, ptr %bases)
  %is_holes = icmp eq i64 %how, 6
  br i1 %is_holes, label %holes, label %others
holes:
  %some = call i64 @filled(ptr %flags, i64 %all)
  br label %head
others:
  %is_some = icmp sge i64 %how, 7
  br i1 %is_some, label %first, label %head
first:
  %first_flag = load i8, ptr %flags
  %is_none = icmp eq i8 %first_flag, 0
  br i1 %is_none, label %refused, label %head
head:
  %i = phi i64 [ 0, %others ], [ 0, %holes ], [ 0, %first ], [ %i1, %next ]
  %cells = phi i64 [ %all, %others ], [ %some, %holes ], [ %all, %first ], [ %cells, %next ]
  %more = icmp slt i64 %i, %cells
  br i1 %more, label %body, label %done
body:
  %flag = getelementptr i8, ptr %flags, i64 %i
  %old = load i8, ptr %flag
  switch i64 %how, label %refused [ i64 0, label %take
                                    i64 1, label %look
                                    i64 2, label %put
                                    i64 4, label %sum
                                    i64 5, label %rest
                                    i64 6, label %rest
                                    i64 7, label %sum
                                    i64 8, label %look_some ]
take:
  %take_ok = icmp eq i8 %old, 1
  br i1 %take_ok, label %gone, label %refused
look:
  %odd = and i8 %old, 1
  %look_ok = icmp eq i8 %odd, 1
  br i1 %look_ok, label %seen, label %refused
look_some:
  switch i8 %old, label %refused [ i8 0, label %zeros_seen
                                   i8 1, label %seen
                                   i8 3, label %seen ]
zeros_seen:
  %seen_at = mul i64 %i, %bytes
  %seen_cell = getelementptr i8, ptr %array, i64 %seen_at
  call void @llvm.memset.p0.i64(ptr %seen_cell, i8 0, i64 %bytes, i1 false)
  br label %seen
put:
  %put_ok = icmp eq i8 %old, 0
  br i1 %put_ok, label %fresh, label %refused
sum:
  switch i8 %old, label %refused [ i8 0, label %zeros
                                   i8 1, label %gone ]
rest:
  %is_empty = icmp eq i8 %old, 0
  br i1 %is_empty, label %clear, label %next
clear:
  %rest_at = mul i64 %i, %bytes
  %rest_cell = getelementptr i8, ptr %array, i64 %rest_at
  call void @llvm.memset.p0.i64(ptr %rest_cell, i8 0, i64 %bytes, i1 false)
  br label %next
zeros:
  %at = mul i64 %i, %bytes
  %cell = getelementptr i8, ptr %array, i64 %at
  call void @llvm.memset.p0.i64(ptr %cell, i8 0, i64 %bytes, i1 false)
  br label %gone
gone:
  store i8 2, ptr %flag
  br label %next
seen:
  store i8 3, ptr %flag
  br label %next
fresh:
  store i8 1, ptr %flag
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %head
done:
  ret i64 0
refused:
  ret i64 1
}
"""
