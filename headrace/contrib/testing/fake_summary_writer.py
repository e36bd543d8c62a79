"""FakeSummaryWriter: takes the place of tf.summary.FileWriter in a test, and notes what it is given."""

from __future__ import annotations

from typing import Any

from headrace.formats import proto
from headrace.train.summaries.file_writer import FileWriterCache


class FakeSummaryWriter:
    """A FileWriter that writes nothing.

    Example:
      >>> tf.contrib.testing.FakeSummaryWriter.install()
      >>> writer = tf.summary.FileWriterCache.get("/logs")  # a FakeSummaryWriter
      >>> tf.contrib.testing.FakeSummaryWriter.uninstall()
    """

    _replaced: Any = None

    @classmethod
    def install(cls) -> None:
        """Let `FileWriterCache` make writers of this class."""
        if cls._replaced:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced = FileWriterCache.use(FakeSummaryWriter)  # type: ignore[arg-type]

    @classmethod
    def uninstall(cls) -> None:
        """Let it make real ones again."""
        if not cls._replaced:
            raise ValueError("FakeSummaryWriter not installed.")
        FileWriterCache.use(cls._replaced)
        cls._replaced = None

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[Any, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @property
    def summaries(self) -> dict[Any, list[Any]]:
        """Summaries by step."""
        return self._summaries

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: Any = None,
        expected_graph: Any = None,
        expected_summaries: dict[Any, dict[str, float]] | None = None,
        expected_added_graphs: Any = None,
        expected_added_meta_graphs: Any = None,
        expected_session_logs: Any = None,
    ) -> None:
        """Check what was written; None means whatever it was.

        Args:
          test_case: a unittest.TestCase.
          expected_logdir: the folder.
          expected_graph: the graph that the writer began with.
          expected_summaries: plain values by step and tag.
          expected_added_graphs: graphs.
          expected_added_meta_graphs: MetaGraphDefs.
          expected_session_logs: SessionLogs.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries, f"Missing step {step} from {self._summaries.keys()}.")
            values = (v for summary in self._summaries[step] for v in summary.value)
            found = {v.tag: v.simple_value for v in values if v.tag != "global_step/sec"}
            test_case.assertEqual(expected, found)
        if expected_added_graphs is not None:
            test_case.assertEqual(expected_added_graphs, self._added_graphs)
        if expected_added_meta_graphs is not None:
            written = [m.SerializeToString(deterministic=True) for m in self._added_meta_graphs]
            wanted = [m.SerializeToString(deterministic=True) for m in expected_added_meta_graphs]
            test_case.assertEqual(wanted, written)
        if expected_session_logs is not None:
            test_case.assertEqual(expected_session_logs, self._added_session_logs)

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        summary = proto.Summary.FromString(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        _check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Nothing is held back."""

    def reopen(self) -> None:
        """Nothing was closed."""

    def close(self) -> None:
        """Nothing is open."""


def _check_step(step: Any) -> None:
    if step is not None and step < 0:
        raise ValueError(f"Invalid global_step {step}.")
