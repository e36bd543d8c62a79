"""A variable by reference is read where its value is used: text in, text out."""

from headrace.plan.late_reads import late_reads
from tests.passes.test_passes import rewrites

W = "w = VariableV2() {shape=[2]; dtype=f32} : f32&[2]\n"
C = "c = Const() {value=f32[1.0, 2.0]; dtype=f32} : f32[2]\n"
A = "a = Assign(w, c) : f32&[2]\n"


def test_after_a_writer():
    rewrites(
        late_reads,
        W + C + "r = Identity(w) : f32[2]\n" + A + "y = Neg(r) ^a : f32[2]\nreturn y",
        W + C + A + "w/_read_for_y = Identity(w) ^a : f32[2]\ny = Neg(w/_read_for_y) ^a : f32[2]\nreturn y",
    )


def test_not_after_a_writer():
    text = W + C + "r = Identity(w) : f32[2]\ny = Neg(r) : f32[2]\n" + A + "return y\ntarget a"
    rewrites(late_reads, text, text)


def test_a_read_behind_the_writer_is_late_enough():
    text = W + C + A + "r = Identity(w) ^a : f32[2]\ny = Neg(r) ^a : f32[2]\nreturn y"
    rewrites(late_reads, text, text)


def test_users_behind_the_same_writers_share_a_read():
    rewrites(
        late_reads,
        W
        + C
        + "r = Identity(w) : f32[2]\n"
        + A
        + "y = Neg(r) ^a : f32[2]\nz = Abs(r) ^a : f32[2]\nreturn y, z",
        W + C + A + "w/_read_for_y = Identity(w) ^a : f32[2]\n"
        "y = Neg(w/_read_for_y) ^a : f32[2]\nz = Abs(w/_read_for_y) ^a : f32[2]\nreturn y, z",
    )


def test_of_writers_that_wait_for_one_another_the_last_is_named():
    rewrites(
        late_reads,
        W + C + "r = Identity(w) : f32[2]\n" + A + "b = AssignAdd(a, c) : f32&[2]\n"
        "y = Neg(r) ^a ^b : f32[2]\nreturn y",
        W + C + A + "b = AssignAdd(a, c) : f32&[2]\n"
        "w/_read_for_y = Identity(w) ^b : f32[2]\ny = Neg(w/_read_for_y) ^a ^b : f32[2]\nreturn y",
    )


def test_views_are_repeated_and_what_they_waited_for_is_kept():
    rewrites(
        late_reads,
        W + C + "s = Const() {value=i32[2, 1]; dtype=i32} : i32[2]\nn = NoOp()\n"
        "r = Identity(w) : f32[2]\nv = Reshape(r, s) ^n : f32[2,1]\n"
        + A
        + "y = Neg(v) ^a : f32[2,1]\nreturn y",
        W
        + C
        + "s = Const() {value=i32[2, 1]; dtype=i32} : i32[2]\nn = NoOp()\n"
        + A
        + "w/_read_for_y = Identity(w) ^n ^a : f32[2]\n"
        "v/_again = Reshape(w/_read_for_y, s) : f32[2,1]\n"
        "y = Neg(v/_again) ^a : f32[2,1]\nreturn y",
    )


def test_the_reference_is_led_into_a_branch():
    rewrites(
        late_reads,
        W + C + "p = Placeholder() {dtype=bool; shape=[]} : bool[]\nr = Identity(w) : f32[2]\n"
        "t = RefSwitch(w, p) : f32&[2], f32&[2]\ns = Switch(r, p) : f32[2], f32[2]\n"
        "a = Assign(t:1, c) : f32&[2]\ny = Neg(s:1) ^a : f32[2]\nz = Abs(s) : f32[2]\n"
        "m = Merge(y, z) {N=2} : f32[2], i32[]\nfeed p\nreturn m",
        W + C + "p = Placeholder() {dtype=bool; shape=[]} : bool[]\nr = Identity(w) : f32[2]\n"
        "t = RefSwitch(w, p) : f32&[2], f32&[2]\ns = Switch(r, p) : f32[2], f32[2]\n"
        "s/_reference = RefSwitch(w, p) : f32&[2], f32&[2]\nz = Abs(s) : f32[2]\n"
        "a = Assign(t:1, c) : f32&[2]\n"
        "s/_reference/_read_for_y = Identity(s/_reference:1) ^a : f32[2]\n"
        "y = Neg(s/_reference/_read_for_y) ^a : f32[2]\n"
        "m = Merge(y, z) {N=2} : f32[2], i32[]\nfeed p\nreturn m",
    )


def test_a_reference_is_read_on_its_own_device():
    near = W.replace(" :", " @/cpu:1 :") + C.replace(" :", " @/cpu:1 :") + A.replace(" :", " @/cpu:1 :")
    rewrites(
        late_reads,
        near + "r = Identity(w) ^a @/cpu:2 : f32[2]\nreturn r",
        near + "w/_read_for_r = Identity(w) ^a @/cpu:1 : f32[2]\n"
        "r = Identity(w/_read_for_r) ^a @/cpu:2 : f32[2]\nreturn r",
    )
