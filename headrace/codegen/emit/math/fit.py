"""How the coefficients of this folder were found: weighted minimax fits (Remez exchange).

A tool for developers, never imported: `python -m headrace.codegen.emit.math.fit` prints the tables of
`tables.py`.  It needs mpmath, which nothing else here does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Real = Any  # mpmath's number; the library is not typed
Math = Any  # mpmath itself


def remez(
    mp: Math,
    function: Callable[[Real], Real],
    weight: Callable[[Real], Real],
    low: Real,
    high: Real,
    degree: int,
    rounds: int = 30,
) -> tuple[list[Real], Real]:
    """The polynomial p of `degree` that minimises the largest weight(x)*|function(x) - p(x)|."""
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]
    tiny = mp.mpf("1e-3") * weight(high)  # the weight may vanish inside the interval
    coefficients: list[Real] = []
    worst = mp.mpf(0)
    for _ in range(rounds):
        rows = [
            [x**k for k in range(degree + 1)] + [(-1) ** i / max(weight(x), tiny)]
            for i, x in enumerate(nodes)
        ]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([function(x) for x in nodes]))
        coefficients = [solution[k] for k in range(degree + 1)]

        def error(x: Real, c: list[Real] = coefficients) -> Real:
            return max(weight(x), tiny) * (function(x) - mp.polyval(c[::-1], x))

        nodes, worst = extrema(mp, error, low, high, count)
        if worst - abs(solution[degree + 1]) < abs(worst) * mp.mpf("1e-3"):
            break
    return coefficients, worst


def extrema(
    mp: Math, error: Callable[[Real], Real], low: Real, high: Real, count: int
) -> tuple[list[Real], Real]:
    """The `count` alternating extrema of the error, and the largest of all, on a fine grid."""
    steps = 40 * count
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * i / steps)) / 2 for i in range(steps + 1)]
    values = [error(x) for x in grid]
    peaks: list[tuple[Real, Real]] = []
    for x, v in zip(grid, values):
        if peaks and mp.sign(peaks[-1][1]) == mp.sign(v):
            if abs(v) > abs(peaks[-1][1]):
                peaks[-1] = (x, v)
        else:
            peaks.append((x, v))
    while len(peaks) > count:
        peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
    worst = max(abs(v) for _, v in peaks)
    while len(peaks) < count:  # too few alternations: fall back to spread nodes
        peaks.append((low + (high - low) * len(peaks) / count, 0))
    return sorted(x for x, _ in peaks), worst


def fits(mp: Math) -> dict[str, tuple[list[Real], Real]]:
    """Every table: name -> (coefficients from the constant term up, largest weighted error)."""
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.0001")
    root = mp.sqrt(2)
    low, high = 1 / root - 1 - mp.mpf("1e-9"), root - 1 + mp.mpf("1e-9")
    quarter = mp.pi / 4 * mp.mpf("1.0001")

    def exp_tail(r: Real) -> Real:  # e^r = 1 + r + r^2 P(r)
        return (mp.expm1(r) - r) / r**2 if r else mp.mpf(1) / 2

    def log_tail(f: Real) -> Real:  # log(1+f) = f - f^2/2 + f^3 P(f)
        if abs(f) < mp.mpf("1e-12"):
            return mp.mpf(1) / 3 - f / 4
        return (mp.log1p(f) - f + f * f / 2) / f**3

    def sin_tail(z: Real) -> Real:  # sin(r) = r + r^3 P(r^2)
        r = mp.sqrt(z)
        return (mp.sin(r) - r) / r**3 if z > mp.mpf("1e-12") else mp.mpf(-1) / 6 + z / 120

    def cos_tail(z: Real) -> Real:  # cos(r) = 1 - r^2/2 + r^4 P(r^2)
        r = mp.sqrt(z)
        return (mp.cos(r) - 1 + z / 2) / z**2 if z > mp.mpf("1e-10") else mp.mpf(1) / 24 - z / 720

    def atan_tail(z: Real) -> Real:  # atan(t) = t + t^3 P(t^2)
        t = mp.sqrt(z)
        return (mp.atan(t) - t) / t**3 if z > mp.mpf("1e-12") else mp.mpf(-1) / 3 + z / 5

    def erf_ratio(z: Real) -> Real:  # erf(x) = x P(x^2)
        x = mp.sqrt(z)
        return mp.erf(x) / x if z > mp.mpf("1e-20") else 2 / mp.sqrt(mp.pi) * (1 - z / 3)

    def erfc_log(t: Real) -> Real:  # erfc(x) = exp(-x^2) Q(t), t = 1/(1+x/2)
        x = 2 * (1 / t - 1)
        return mp.erfc(x) * mp.exp(x * x)

    one = lambda x: mp.mpf(1)
    tan_eighth = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001")
    return {
        "EXP_F32": remez(mp, exp_tail, lambda r: r * r / mp.exp(r), -half_ln2, half_ln2, 4),
        "EXP_F64": remez(mp, exp_tail, lambda r: r * r / mp.exp(r), -half_ln2, half_ln2, 9),
        "LOG_F32": remez(mp, log_tail, lambda f: f * f, low, high, 7),
        "LOG_F64": remez(mp, log_tail, lambda f: f * f, low, high, 18),
        "SIN_F64": remez(mp, sin_tail, one, mp.mpf(0), quarter**2, 6),
        "COS_F64": remez(mp, cos_tail, one, mp.mpf(0), quarter**2, 6),
        "ATAN_F64": remez(mp, atan_tail, one, mp.mpf(0), tan_eighth, 10),
        "ERF_F32": remez(mp, erf_ratio, one, mp.mpf(0), mp.mpf("0.8"), 6),
        "ERFC_F32": remez(mp, erfc_log, lambda t: 1 / erfc_log(t), mp.mpf("0.16"), mp.mpf("0.72"), 12),
    }


def main() -> None:
    from mpmath import mp

    mp.prec = 200
    for name, (coefficients, worst) in fits(mp).items():
        print(f"# largest weighted error {mp.nstr(worst, 3)}")
        print(f"{name} = (")
        for c in coefficients:
            print(f"    {float(c)!r},")
        print(")")


if __name__ == "__main__":
    main()
