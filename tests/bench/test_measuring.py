"""The measuring side: goals, ratios, history, tables, and workers that die or hang."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from bench import frameworks, goals, history, rounds, tables, workers


def figures(*times: float, **more):
    return {"rounds": list(times), "median": sorted(times)[len(times) // 2], "flops": 0, **more}


def results(**steps):
    facts = {"CPU": "one", "cores": 2}
    return {"machine": facts, "versions": {"headrace": "1"}, "steps": steps, "notes": []}


def test_a_ratio_is_taken_within_a_round():
    assert rounds.ratio(figures(1.0, 10.0, 1.0), figures(2.0, 20.0, 2.0)) == 0.5


def test_goals():
    steps = {
        "mlp": {"headrace": figures(0.7), "tf": figures(2.0), "jax": figures(1.0)},
        "null_step": {"headrace": figures(7e-6)},
        "matmul_1024": {"headrace": figures(1.0)},
        "alexnet": {"headrace": {"error": "died"}, "tf": figures(1.0)},
        "while_loop": {"headrace": figures(1.0), "jax": figures(1.1), "tf": figures(4.0)},
    }
    verdicts = {name: goals.step_verdict(name, steps).holds for name in steps}
    assert verdicts == {
        "mlp": True,  # 0.7 of the best
        "null_step": False,  # 7 us, not 6
        "matmul_1024": None,  # nobody to compare with
        "alexnet": False,  # no result is a miss
        "while_loop": False,  # faster than JAX, but not 8 times TF's rate
    }


def test_peers_of_the_unrolled_form_count_for_the_loop():
    steps = {
        "lstm_small": {"headrace": figures(1.0), "torch": figures(1.0)},
        "lstm_small_dyn": {"headrace": figures(0.6), "tf": figures(2.0)},
    }
    assert goals.share("lstm_small_dyn", steps) == 0.6


def test_a_network_near_the_machines_rate_needs_no_ratio():
    ours, machine = figures(1.0, flops=0), figures(1.0, flops=100.0)
    ours["flops"] = 95.0
    steps = {"vgg_a": {"headrace": ours, "tf": figures(1.0), "machine": machine}}
    assert goals.step_verdict("vgg_a", steps).holds
    ours["flops"] = 85.0
    assert not goals.step_verdict("vgg_a", steps).holds


def test_slow_peers_leave_after_a_round():
    row = {"headrace": figures(9.0), "tf": figures(1.0), "jax": figures(3.0), "torch": figures(1.9)}
    assert rounds.far_behind(row) == {"jax"}
    assert rounds.far_behind({"tf": figures(1e-3), "jax": figures(1e-2)}) == set()


def test_history_finds_what_became_slower(tmp_path):
    path = str(tmp_path / "kept.json")
    history.save({"mlp": {"headrace": figures(1.0, 1.1), "machine": figures(1.0, 1.0)}}, path)
    same = {"mlp": {"headrace": figures(2.0, 2.2), "machine": figures(2.0, 2.0)}}
    assert history.slower(same, path) == {}
    slow = {"mlp": {"headrace": figures(2.6, 2.8), "machine": figures(2.0, 2.0)}}
    assert list(history.slower(slow, path)) == ["mlp"]
    # A peer that slowed down as much says that it is the day, not the change.
    history.save({"mlp": {"headrace": figures(1.0), "tf": figures(1.0), "machine": figures(1.0)}}, path)
    day = {"mlp": {"headrace": figures(2.0), "tf": figures(2.0), "machine": figures(1.0)}}
    assert history.slower(day, path) == {}


def test_tables_fill_their_places_and_leave_the_text(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text("Before.\n<!-- table: steps -->\nstale\n<!-- end -->\nAfter.\n")
    row = {"headrace": figures(0.001, losses=[2.0]), "tf": figures(0.002, losses=[2.002])}
    tables.write(results(mlp=row), str(document))
    text = document.read_text()
    assert text.startswith("Before.\n") and text.endswith("<!-- end -->\nAfter.\n")
    assert "| `mlp` | 1 ms | 2 ms | 0.50 | 0.8 | yes | 1e-03 |" in text
    assert "stale" not in text


def test_every_table_can_be_made():
    more = {
        "startup": {"googlenet": {"cold": dict.fromkeys(tables.STARTUP_PARTS, 1.0)}},
        "memory": {
            "vgg_a": {
                n: {"before": 1, "most": 3, "steps": s}
                for n, s in (("headrace", 1.0), ("tf", 2.0), ("jax", 0.1))
            }
        },
        "lengths": {"lengths_quarter": [0.5], "lengths_mixed": [1.0], "lengths_full": [1.0]},
        "loop_memory": {"backward_looped": {"added": 11.0}, "backward_unrolled": {"added": 10.0}},
    }
    made = results(mlp={"headrace": figures(1.0)}) | more
    for name, make in tables.TABLES.items():
        assert make(made).strip(), name
    verdicts = goals.other_verdicts(made)
    assert verdicts["memory of vgg_a"].holds and verdicts["memory of a loop's backward pass"].holds
    assert not verdicts["lengths_quarter"].holds and verdicts["lengths_mixed"].holds


def test_a_part_without_a_result_is_a_miss():
    made = results() | {"lengths": {}, "loop_memory": {}, "startup": {"googlenet": {"cold": {}}}}
    assert {v.holds for v in goals.other_verdicts(made).values()} == {False}
    assert goals.other_verdicts(results()) == {}


# ---- workers that misbehave


def fake(monkeypatch, code: str) -> None:
    hello = 'import sys, time; print(\'{"version": "1", "has": ["mlp"]}\', flush=True)\n'
    monkeypatch.setattr(frameworks, "command", lambda *_: [sys.executable, "-c", hello + code])


@pytest.mark.process
def test_a_worker_that_hangs_is_ended(monkeypatch, tmp_path):
    fake(monkeypatch, "time.sleep(600)")
    with open(tmp_path / "log", "wb") as log:
        worker = workers.Worker("tf", "tiny", log)
        begin = time.monotonic()
        with pytest.raises(workers.Lost, match="no answer in 1 s"):
            worker.ask(1.0, do="setup", workload="mlp")
    assert time.monotonic() - begin < 20 and worker.process.poll() == -signal.SIGKILL


@pytest.mark.process
def test_a_fresh_process_that_dies_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(frameworks, "command", lambda *_: [sys.executable, "-c", "exit(5)"])
    with open(tmp_path / "log", "wb") as log, pytest.raises(workers.Lost, match="died with code 5"):
        workers.once("tf", ["first", "mlp"], log, 60.0)


@pytest.mark.process
def test_a_worker_that_dies_is_reported_and_the_others_go_on(monkeypatch, tmp_path):
    fake(monkeypatch, "sys.stdin.readline(); sys.exit(3)")
    notes: list[str] = []
    with open(tmp_path / "log", "wb") as log:
        crew = rounds.Crew(["tf", "jax"], "tiny", log, notes.append)
        row = rounds.measure("mlp", crew, 1, lambda text: None)
        crew.quit()
    assert set(row) == {"tf", "jax"}
    assert [note for note in notes if "tf died with code 3" in note]


@pytest.mark.process
@pytest.mark.native
def test_a_run_from_the_command_line(tmp_path):
    import subprocess

    out, table = tmp_path / "r.json", tmp_path / "t.md"
    command = [sys.executable, "-m", "bench.steps", "--size", "tiny", "--peers", "none",
               "--only", "null_feed", "--rounds", "2", "--json", str(out), "--table", str(table),
               "--save", str(tmp_path / "kept"), "--log", str(tmp_path / "log")]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=frameworks.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"PYTHONPATH": str(frameworks.ROOT)},
    )
    assert done.returncode in (0, 1), done.stderr  # 1: the machine is too busy for the goal
    row = json.loads(out.read_text())["steps"]["null_feed"]
    assert row["headrace"]["losses"] == [3.0] * 5 and len(row["machine"]["rounds"]) == 2
    assert "`null_feed`" in table.read_text() and "null_feed" in done.stdout
    assert list(json.loads((tmp_path / "kept").read_text())) == ["null_feed"]


def test_a_warning_of_a_build_is_part_of_the_answer():
    import warnings

    from bench.worker import Server
    from bench.workloads import sizes
    from bench.workloads.program import Step

    def build(size):
        warnings.warn("region of 3 nodes runs uncompiled", stacklevel=2)
        return Step(lambda: 1.0)

    answer = Server({"mlp": build}, sizes.TINY).answer('{"do": "setup", "workload": "mlp"}')
    assert answer["warnings"] == ["region of 3 nodes runs uncompiled"]
    assert answer["losses"] == [1.0] * 5
