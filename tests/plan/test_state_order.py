"""Where edges leave the order of a variable's reads and writes open, it becomes edges."""

from headrace.plan.state_order import order_state
from tests.passes.test_passes import rewrites

ONE, OTHER = "@/cpu:0", "@/cpu:1"
X = f"x = Placeholder() {{dtype=f32; shape=[2]}} {OTHER} : f32[2]\n"
W = f"w = VariableV2() {{shape=[2]; dtype=f32}} {ONE} : f32&[2]\n"


def test_two_writers_and_a_reader_on_several_devices():
    rewrites(
        order_state,
        X + W + f"r = Identity(w) {ONE} : f32[2]\ny = Neg(r) {OTHER} : f32[2]\n"
        f"a = Assign(w, x) {ONE} : f32&[2]\nb = AssignAdd(w, x) {ONE} : f32&[2]\n"
        "feed x\nreturn y\ntarget a, b",
        X + W + f"r = Identity(w) {ONE} : f32[2]\ny = Neg(r) {OTHER} : f32[2]\n"
        f"a = Assign(w, x) ^r {ONE} : f32&[2]\nb = AssignAdd(w, x) ^a {ONE} : f32&[2]\n"
        "feed x\nreturn y\ntarget a, b",
    )


def test_one_device_keeps_its_order_anyway():
    text = (X + W).replace(OTHER, ONE) + (
        f"a = Assign(w, x) {ONE} : f32&[2]\nb = AssignAdd(w, x) {ONE} : f32&[2]\nfeed x\ntarget a, b"
    )
    rewrites(order_state, text, text)


def test_a_branch_is_one_access():
    head = X + W + f"p = Placeholder() {{dtype=bool; shape=[]}} {ONE} : bool[]\n"
    b = f"b = AssignAdd(w, x) {ONE} : f32&[2]\n"
    tail = f"a = Assign(s:1, x) {ONE} : f32&[2]\nfeed x, p\ntarget b, a"
    rewrites(
        order_state,
        head + f"s = RefSwitch(w, p) {ONE} : f32&[2], f32&[2]\n" + b + tail,
        head + b + f"s = RefSwitch(w, p) ^b {ONE} : f32&[2], f32&[2]\n" + tail,
    )


QUEUE = (
    f"q = FIFOQueueV2() {{component_types=(f32)}} {ONE} : resource[]\n"
    f"d = QueueDequeueV2(q) {{component_types=(f32)}} {ONE} : f32[2]\n"
)


def accesses_around_a_queue(second, waits=""):
    """A writer behind a dequeue, then one whose value goes into the queue."""
    return (
        X + W + QUEUE + f"a = AssignAdd(w, d) {ONE} : f32&[2]\n"
        f"b = AssignSub(w, {second}){waits} {ONE} : f32&[2]\n"
        f"e = QueueEnqueueV2(q, b) {{Tcomponents=(f32)}} {ONE}\nfeed x\ntarget a, e"
    )


def test_what_a_wait_may_need_does_not_wait_for_it():
    text = accesses_around_a_queue("x")
    rewrites(order_state, text, text)


def test_a_wait_that_both_are_behind_leaves_nothing_open():
    rewrites(order_state, accesses_around_a_queue("d"), accesses_around_a_queue("d", " ^a"))


def test_a_wait_at_another_queue_leaves_nothing_open():
    """b's value goes into another queue than that where a's wait is."""
    other = f"p = FIFOQueueV2() {{component_types=(f32)}} {ONE} : resource[]\n"

    def text(waits: str, more: str = "") -> str:
        found = accesses_around_a_queue("x", waits).replace("QueueEnqueueV2(q,", "QueueEnqueueV2(p,")
        return found.replace("q = FIFO", other + "q = FIFO").replace("feed x", more + "feed x")

    rewrites(order_state, text(""), text(" ^a"))
    # But if somebody waits there and then fills the first queue, it is risky again.
    between = f"g = QueueDequeueV2(p) {{component_types=(f32)}} {ONE} : f32[2]\n"
    filled = f"h = QueueEnqueueV2(q, g) {{Tcomponents=(f32)}} {ONE}\n"
    risky = text("", between + filled).replace("target a", "target h, a")
    rewrites(order_state, risky, risky)
