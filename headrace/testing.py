"""tf.test: a TestCase that knows sessions, arrays and messages."""

from __future__ import annotations

import random
import re
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from headrace.core import device_name, errors
from headrace.core.dtypes import as_dtype
from headrace.formats import proto
from headrace.functions.random.random_seed import set_random_seed
from headrace.graph import defaults
from headrace.graph.graph import Graph
from headrace.graph.tensor import Tensor
from headrace.session.session import Session
from headrace.testing_aids import get_temp_dir, gpu_device_name
from headrace.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER

_SEED = 87654321


class _CheckedThread:
    """A thread whose failure fails the test."""

    def __init__(self, case: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._case, self._error, self._joined = case, None, False

        def work() -> None:
            try:
                target(*args, **kwargs)
            except BaseException as error:  # join() reports it
                self._error = error

        self._thread = threading.Thread(target=work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        if not self._joined and self.is_alive():
            self._case.fail("A checked thread was not joined.")


class TestCase(unittest.TestCase):
    """A test of graphs: each begins with an empty default graph and fixed seeds."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[_CheckedThread] = []
        self._tempdir: str | None = None
        self._cached_session: Any = None
        self._cached_for: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        self._close_cached()
        random.seed(_SEED)
        np.random.seed(_SEED)
        defaults.reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._close_cached()
        super().tearDown()

    def _close_cached(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    def get_temp_dir(self) -> str:
        """A folder for this test alone."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._tempdir

    # -- running -----------------------------------------------------------------------------
    @contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A session that is closed at the end of the block; it places softly unless `force_gpu`."""
        made = Session(graph=graph, config=_placing(config, force_gpu))
        with made as session, _on_device(session, use_gpu, force_gpu):
            yield session

    @contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """The same session for all blocks of a test, which must ask for the same."""
        asked = {"graph": graph, "config": config, "force_gpu": force_gpu}
        if self._cached_session is None:
            made = Session(graph=graph, config=_placing(config, force_gpu))
            self._cached_session, self._cached_for = made, asked
        for what, value in asked.items():
            if self._cached_for[what] is not value:
                raise ValueError(
                    f"The {what} used to get the cached session is different than the one that was "
                    "used to create the session. Maybe create a new session with self.session()"
                )
        with self._in_cached(use_gpu, force_gpu) as session:
            yield session

    @contextmanager
    def test_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Any]:
        """`session` where a graph is given; else the one session of this test, whatever it is."""
        if graph is not None:
            chosen = self.session(graph, config, use_gpu, force_gpu)
        elif self._cached_session is None:
            chosen = self.cached_session(graph, config, use_gpu, force_gpu)
        else:
            chosen = self._in_cached(use_gpu, force_gpu)
        with chosen as session:
            yield session

    @contextmanager
    def _in_cached(self, use_gpu: bool, force_gpu: bool) -> Iterator[Any]:
        session = self._cached_session
        with session.graph.as_default(), session.as_default():
            with _on_device(session, use_gpu, force_gpu):
                yield session

    def evaluate(self, tensors: Any) -> Any:
        """Values of tensors, in the default session."""
        session = defaults.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> _CheckedThread:
        """A thread whose failure fails the test; join it."""
        thread = _CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(thread)
        return thread

    def _value(self, x: Any) -> Any:
        if isinstance(x, Tensor) or hasattr(x, "_as_graph_element"):
            x = self.evaluate(x)
        if isinstance(x, np.ndarray) and x.dtype == object and x.size:
            return x
        array = np.array(x)
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array

    # -- numbers -----------------------------------------------------------------------------
    def assertNear(self, f1: Any, f2: Any, err: Any, msg: Any = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err} {msg or ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: Any, msg: Any = None) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: Any, msg: Any = None) -> None:
        self.assertLess(np.linalg.norm(ndarray1 - ndarray2), err, msg)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Structures of arrays that are near each other."""
        if isinstance(a, Mapping):
            self.assertIsInstance(b, Mapping, msg)
            self.assertCountEqual(a, b, msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"[{key}] {msg or ''}")
        elif isinstance(a, (list, tuple)) and not _is_rectangular(a, b):
            self.assertEqual(len(a), len(b), msg)
            for i, (x, y) in enumerate(zip(a, b)):
                self.assertAllClose(x, y, rtol, atol, f"[{i}] {msg or ''}")
        else:
            x, y = self._value(a), self._value(b)
            if y.size <= 3 and x.shape != y.shape:
                msg = f"Shape mismatch: expected {x.shape}, got {y.shape} with contents {y}. {msg}"
            self.assertEqual(x.shape, y.shape, msg)
            np.testing.assert_allclose(x, y, rtol, atol, err_msg=str(msg or ""), equal_nan=True)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Arrays that are as near each other as their types allow."""
        names = {getattr(getattr(v, "dtype", None), "name", "") for v in (a, b)}
        for kinds, r, t in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Arrays of equal shape and elements; NaN equals NaN."""
        x, y = self._value(a), self._value(b)
        self.assertEqual(x.shape, y.shape, f"Shape mismatch: {x.shape} and {y.shape}. {msg or ''}")
        if x.dtype.kind in "SU" or y.dtype.kind in "SU" or object in (x.dtype, y.dtype):
            self.assertEqual([_bytes(v) for v in x.ravel()], [_bytes(v) for v in y.ravel()], msg)
            return
        np.testing.assert_array_equal(x, y, err_msg=str(msg or ""))

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(np.min(self._value(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(np.max(self._value(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(np.min(self._value(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(np.max(self._value(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements lie between two bounds."""
        x = self._value(target)
        if not (np.issubdtype(x.dtype, np.floating) or np.issubdtype(x.dtype, np.integer)):
            raise AssertionError(
                f"The value of {target} does not have an ordered numeric type, instead it has type: {x.dtype}"
            )
        low = x <= lower_bound if open_lower_bound else x < lower_bound
        high = x >= upper_bound if open_upper_bound else x > upper_bound
        wrong = np.flatnonzero(low | high | np.isnan(x))
        self.assertEqual(
            0, wrong.size, f"{wrong.size} of {x.size} elements are out of range: {x.ravel()[wrong]}"
        )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        found = np.unique(self._value(target))
        wrong = [v for v in found if v not in expected_set]
        if wrong:
            raise AssertionError(f"{len(wrong)} unique element(s) are not in the set: {wrong}")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(as_dtype(self._value(target).dtype), as_dtype(expected_dtype))

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg)

    # -- messages, devices, errors ---------------------------------------------------------------
    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None) -> None:
        """A message equals another, or the one that a text describes."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            text = expected.decode() if isinstance(expected, bytes) else expected
            expected = proto.from_text(text, type(message)())
        elif type(expected) is not type(message):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(message)}.")
        if expected != message:
            self.assertMultiLineEqual(proto.to_text(expected), proto.to_text(message), msg)

    def assertProtoEqualsVersion(
        self,
        expected: str,
        actual: Any,
        producer: int = GRAPH_DEF_VERSION,
        min_consumer: int = GRAPH_DEF_VERSION_MIN_CONSUMER,
        msg: str | None = None,
    ) -> None:
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};\n"
        self.assertProtoEquals(versions + expected, actual, msg)

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: Any = None) -> None:
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r} {msg or ''}")

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        a, b = device_name.canonical(device1), device_name.canonical(device2)
        self.assertEqual(a, b, f"Devices {a} and {b} are not equal. {msg or ''}")

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises an error that a predicate accepts or a pattern matches."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, exception_type):
                raise
            if callable(expected_err_re_or_predicate):
                fits = expected_err_re_or_predicate(error)
            else:
                text = error.message if isinstance(error, errors.OpError) else str(error)
                fits = re.search(expected_err_re_or_predicate, f"{text}\n{error}")
            if not fits:
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def _placing(config: Any, force_gpu: bool) -> Any:
    """A test wants an op to run, wherever that is; `force_gpu` wants it there or not at all."""
    if config is None or (force_gpu and config.allow_soft_placement):
        chosen = proto.ConfigProto()
        if config is not None:
            chosen.CopyFrom(config)
        chosen.allow_soft_placement = not force_gpu
        return chosen
    return config


def _on_device(session: Any, use_gpu: bool, force_gpu: bool) -> AbstractContextManager[Any]:
    chosen = nullcontext() if use_gpu else session.graph.device("/device:CPU:0")
    if force_gpu:
        chosen = session.graph.device(gpu_device_name() or "/device:GPU:0")
    return chosen


def _is_rectangular(*values: Any) -> bool:
    try:
        return all(np.array(v).dtype != object for v in values)
    except (ValueError, NotImplementedError):  # lists of other lengths, or of tensors
        return False


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


for _old, _new in (
    ("assertEquals", "assertEqual"),
    ("assertNotEquals", "assertNotEqual"),
    ("assertAlmostEquals", "assertAlmostEqual"),
    ("assertItemsEqual", "assertCountEqual"),
    ("assertRegexpMatches", "assertRegex"),
    ("assertNotRegexpMatches", "assertNotRegex"),
    ("assertRaisesRegexp", "assertRaisesRegex"),
    ("assert_", "assertTrue"),
):
    setattr(TestCase, _old, getattr(unittest.TestCase, _new))
