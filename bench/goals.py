"""What is wanted of every figure, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.frameworks import INTERPRETERS, MACHINE, OURS
from bench.rounds import Row, measured, ratio
from bench.workloads.sizes import SAME_WORK

SHARES = {  # our time over the best peer's
    "wide_1000": 1.0, "chain_1000": 1.0, "softmax_mnist": 0.4, "mlp": 0.8, "towers": 0.8,
    "transformer": 0.9, "googlenet_infer1": 0.85,
    "alexnet": 0.9, "overfeat": 0.9, "vgg_a": 0.9, "googlenet": 0.85, "resnet50": 0.85,
    "resnet50_infer1": 0.85, "resnet50_infer32": 0.85, "lstm_small": 0.7, "lstm_small_dyn": 0.7,
    "lstm_medium": 0.8, "lstm_medium_dyn": 0.8, "word2vec": 0.6, "embedding_sparse": 0.6, "vocabulary": 1.0,
    "elementwise": 0.4, "softmax_4096": 0.9, "layernorm_4096": 0.9, "reduce_rows": 0.9,
    "reduce_cols": 0.9, "matmul_1024": 1.0, "while_loop": 1.0,
    "seq2seq_random_lengths": 0.7, "bert_base_random_lengths": 0.7, "bert_base_infer_random_lengths": 0.7,
    "resnet101_random_batches": 0.7, "masked_loss": 1.0, "sampled_softmax": 1.0, "ctc": 1.0,
    "gather_in_loop": 1.0, "gpt2_sampler": 1.0, "jpeg_decode": 1.0,
    "inception_v3": 1.0, "lstm_512_512_full": 1.0, "lstm_512_512_sampled": 1.0, "wide_and_deep": 1.0,
    "dcgan": 1.0, "unet": 1.0,
}  # fmt: skip
SECONDS = {"null_step": 6e-6, "null_feed": 12e-6, "monitored": 56e-6}
OF_ONE_PEER = {"while_loop": ("tf", 0.125)}
GEMM_SHARE = 0.9  # a network at this part of the machine's rate of products needs no better ratio
NETWORKS = frozenset({"alexnet", "overfeat", "vgg_a", "googlenet", "resnet50"})
STARTUP = {("softmax_mnist", "cold"): 0.5, ("googlenet", "cold"): 5.0, ("googlenet", "warm"): 1.5}
FIRST = {  # CPU seconds until the first step is done, imports aside, over TensorFlow's; by cache
    (name, cache): 1.0
    for name in (
        "conds_400",
        "loop_1e6",
        "rnn_unrolled",
        "resnet101_random_batches",
        "bert_base_random_lengths",
    )
    for cache in ("cold", "warm")
}
MEMORY = {"vgg_a": 0.75}  # of the best of TensorFlow and PyTorch
LENGTHS = {"lengths_quarter": 0.4, "lengths_mixed": 1.1}  # of the full batch's time
LOOP_MEMORY = 1.2  # of the unrolled one


@dataclass(frozen=True)
class Verdict:
    """`holds` is None where nothing was there to compare with."""

    figure: str
    goal: str
    holds: bool | None

    @property
    def word(self) -> str:
        return {True: "yes", False: "no", None: ""}[self.holds]


def best_peer(name: str, steps: dict[str, Row]) -> tuple[str, dict[str, Any]] | None:
    """The fastest peer of a workload; for a loop also those that do the same work in another row."""
    rows = {**measured(steps.get(SAME_WORK.get(name, ""))), **measured(steps.get(name))}
    peers = {n: f for n, f in rows.items() if n in INTERPRETERS}
    if not peers:
        return None
    best = min(peers, key=lambda n: peers[n]["median"])
    return best, peers[best]


def share(name: str, steps: dict[str, Row]) -> float | None:
    ours, best = measured(steps.get(name)).get(OURS), best_peer(name, steps)
    return ratio(ours, best[1]) if ours and best else None


def gemm_rate(steps: dict[str, Row]) -> float | None:
    """The machine's best measured rate of matrix products in this run, flops per second."""
    rates = [
        row[MACHINE]["flops"] / min(row[MACHINE]["rounds"])
        for row in map(measured, steps.values())
        if MACHINE in row and row[MACHINE]["flops"]
    ]
    return max(rates, default=None)


def gemm_share(name: str, steps: dict[str, Row]) -> float | None:
    ours, rate = measured(steps.get(name)).get(OURS), gemm_rate(steps)
    return ours["flops"] / ours["median"] / rate if ours and rate and ours["flops"] else None


def step_verdict(name: str, steps: dict[str, Row]) -> Verdict:
    ours = measured(steps.get(name)).get(OURS)
    if name in SECONDS:
        limit = SECONDS[name]
        figure = f"{ours['median'] * 1e6:.1f} us" if ours else "no result"
        return Verdict(figure, f"{limit * 1e6:g} us", bool(ours and ours["median"] <= limit))
    part, goal = share(name, steps), SHARES[name]
    if not ours:
        return Verdict("no result", f"{goal:g}", False)
    if part is None:
        return Verdict("", f"{goal:g}", None)
    holds = part <= goal
    if name in OF_ONE_PEER:
        peer, limit = OF_ONE_PEER[name]
        other = measured(steps[name]).get(peer)
        holds = holds and (other is None or ratio(ours, other) <= limit)
    if name in NETWORKS:
        holds = holds or (gemm_share(name, steps) or 0) >= GEMM_SHARE
    return Verdict(f"{part:.2f}", f"{goal:g}", holds)


def other_verdicts(results: dict[str, Any]) -> dict[str, Verdict]:
    """Startup, memory, sequences of different lengths, memory of a loop: those that were measured."""
    verdicts: dict[str, Verdict] = {}
    for (workload, cache), limit in STARTUP.items():
        if workload in results.get("startup", {}):
            total = results["startup"][workload].get(cache, {}).get("total")
            name = f"first step of {workload}, {cache} cache"
            verdicts[name] = limited(total, limit, "s", needed=True)
    for (workload, cache), limit in FIRST.items():
        row = results.get("startup", {}).get(workload, {})
        if cache in row:
            verdicts[f"first step of {workload}, {cache} cache"] = limited(first_share(row, cache), limit)
    for workload, limit in MEMORY.items():
        if workload in results.get("memory", {}):
            verdicts[f"memory of {workload}"] = limited(memory_share(results, workload), limit)
    times = results.get("lengths", {})
    for name, limit in LENGTHS.items() if "lengths" in results else ():
        full = {"rounds": times.get("lengths_full")}
        part = ratio({"rounds": times[name]}, full) if name in times and full["rounds"] else None
        verdicts[name] = limited(part, limit, needed=True)
    if "loop_memory" in results:
        name = "memory of a loop's backward pass"
        verdicts[name] = limited(loop_share(results), LOOP_MEMORY, needed=True)
    return verdicts


def first_share(row: dict[str, Any], cache: str) -> float | None:
    """Our CPU time from after the imports to the end of the first step, over TensorFlow's."""
    ours, peer = row.get(cache) or {}, row.get("tf") or {}
    return ours["cpu"] / peer["cpu"] if "cpu" in ours and "cpu" in peer else None


def memory_share(results: dict[str, Any], workload: str) -> float | None:
    """Our steps' peak over the least of TensorFlow's and PyTorch's."""
    row = results["memory"][workload]
    peers = [f["steps"] for name, f in row.items() if name not in (OURS, "jax")]
    return row[OURS]["steps"] / min(peers) if peers and OURS in row else None


def loop_share(results: dict[str, Any]) -> float | None:
    figures = results["loop_memory"]
    if len(figures) < 2:
        return None
    looped, unrolled = (figures[f"backward_{word}"]["added"] for word in ("looped", "unrolled"))
    return looped / max(unrolled, 1.0)


def limited(figure: float | None, limit: float, unit: str = "", needed: bool = False) -> Verdict:
    """No figure is a miss where it is `needed`: where it takes no peer to have one."""
    goal = f"{limit:g} {unit}".strip()
    if figure is None:
        return Verdict("no result" if needed else "", goal, False if needed else None)
    return Verdict(f"{figure:.2f} {unit}".strip(), goal, figure <= limit)


def all_verdicts(results: dict[str, Any]) -> dict[str, Verdict]:
    steps = results["steps"]
    return {name: step_verdict(name, steps) for name in steps} | other_verdicts(results)
