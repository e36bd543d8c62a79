"""Plan text parses back."""

import pytest

from headrace.plan.text import from_text, to_text
from headrace.plan.verify import verify

PLANS = [
    """x = Placeholder() {dtype=f32; shape=[2,3]} : f32[2,3]
y = Neg(x) ^x @/device:CPU:0 : f32[2,3]
feed x
return y""",
    """a = Const() {value=f32[1.0, 2.0]; dtype=f32} : f32[2]
p = Pack(a, a) {axis=1} : f32[2,2]
u = Unpack(p) {num=2; axis=1} : f32[2], f32[2]
return u:1, u
target p""",
    """v = VariableV2() {shape=[2]; dtype=f32} : f32&[2]
c = Const() {value=f32[nan, -inf]; dtype=f32} : f32[2]
w = Assign(v, c) : f32&[2]
target w""",
]


@pytest.mark.parametrize("text", PLANS)
def test_prints_what_it_parsed(text):
    plan = from_text(text)
    verify(plan)
    assert to_text(plan) == text


def test_verify_names_the_node():
    plan = from_text("x = Placeholder() {dtype=f32; shape=[2]} : f32[2]\ny = Neg(z) : f32[2]\nreturn y")
    with pytest.raises(AssertionError, match=r"node y .Neg.: the input z has no node"):
        verify(plan)
