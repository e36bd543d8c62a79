"""What graphs of other processes may do: by words, by ops, inside of functions, in which folders."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import headrace as tf
from headrace.distributed.master.remote import RemoteMaster
from headrace.distributed.security.allow import Allowed, allowed
from headrace.distributed.security.settings import Security
from headrace.formats import proto
from headrace.variables.functions.defun import Defun

pytestmark = pytest.mark.process


def test_words(tmp_path):
    assert allowed("", True) == Allowed(files=True, clusters=True) and allowed("", False) == Allowed()
    assert allowed("none", True) == Allowed()
    assert allowed("all", False) == Allowed(True, True, True)
    folders = (str(tmp_path.resolve()), "/")
    assert allowed(f"files:{tmp_path},/ python", False) == Allowed(True, True, False, folders)
    for words in ("file", "none files", "files;python", "sockets"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="HEADRACE_ALLOW"):
            allowed(words, True)


def file_op() -> tf.Tensor:
    return tf.io.read_file("/etc/hostname")


def in_function() -> tf.Tensor:
    @Defun()
    def inner():
        return tf.io.read_file("/etc/hostname")

    @Defun()
    def outer():
        return inner()

    return outer()


def in_branch() -> tf.Tensor:
    return tf.cond(tf.placeholder_with_default(True, []), file_op, lambda: tf.constant(b""))


def python() -> tf.Tensor:
    return tf.py_func(lambda: 1.0, [], tf.float32)


def harmless() -> tf.Tensor:
    with tf.control_dependencies([tf.print("text")]):
        return tf.summary.scalar("a", 1.0)


def definition(make) -> proto.GraphDef:
    with tf.Graph().as_default() as graph:
        make()
        return graph.as_graph_def()


@pytest.mark.parametrize("make", [file_op, in_function, in_branch, python])
def test_a_graph_is_looked_through(make):
    graph_def = definition(make)
    with pytest.raises(tf.errors.PermissionDeniedError, match="(?s)HEADRACE_ALLOW=.*node "):
        Allowed().check(graph_def, "/job:ps")
    Allowed(files=True, python=True).check(graph_def, "/job:ps")
    lacks = Allowed(python=True) if make is not python else Allowed(files=True)
    with pytest.raises(tf.errors.PermissionDeniedError):
        lacks.check(graph_def, "/job:ps")


def test_what_only_computes_is_let_through():
    Allowed().check(definition(harmless), "/job:ps")
    with tf.Graph().as_default() as graph:
        tf.print("text", output_stream="file:///tmp/some_file")
        with pytest.raises(tf.errors.PermissionDeniedError):
            Allowed().check(graph.as_graph_def(), "/job:ps")


def test_functions_that_call_themselves_end():
    graph_def = proto.GraphDef()
    for name, other in (("f", "g"), ("g", "f")):
        made = graph_def.library.function.add()
        made.signature.name = name
        made.node_def.add(name="n", op=other)
    graph_def.node.add(name="call", op="f")
    Allowed().check(graph_def, "/job:ps")


@contextlib.contextmanager
def server(allow: str = "", bind: str = ""):
    made = tf.train.Server({"local": ["localhost:0"]}, security=Security(allow=allow, bind=bind))
    try:
        yield made
    finally:
        made.stop()


def run_from_outside(task, make):
    """The value of a graph that a client of another process sends."""
    with tf.Graph().as_default() as graph:
        fetch = make()
        graph_def = graph.as_graph_def()
    master = RemoteMaster(task.address, Security())
    try:
        handle, _ = master.create_session(graph_def, proto.ConfigProto())
        try:
            return master.run(handle, {}, [fetch.name], [])[0][0]
        finally:
            master.close_session(handle)
    finally:
        master.close()


def test_on_this_host_files_are_allowed_and_python_is_not():
    with server() as task:
        run_from_outside(task, file_op)
        with pytest.raises(tf.errors.PermissionDeniedError, match="HEADRACE_ALLOW=python"):
            run_from_outside(task, python)
        with tf.Graph().as_default(), tf.Session(task.target) as session:
            assert session.run(python()) == 1.0  # of the server's own process
    with server(allow="python") as task:
        with pytest.raises(tf.errors.PermissionDeniedError, match="HEADRACE_ALLOW=files"):
            run_from_outside(task, in_function)


def test_where_strangers_may_come_nothing_is_allowed():
    with server(bind="0.0.0.0") as task:
        with pytest.raises(tf.errors.PermissionDeniedError):
            run_from_outside(task, file_op)
        with tf.Graph().as_default(), tf.Session(task.target) as session:
            session.run(file_op())


def test_a_cluster_of_the_client_s_own():
    def create(task):
        config = proto.ConfigProto()
        config.cluster_def.job.add(name="local").tasks[0] = task.address
        master = RemoteMaster(task.address, Security())
        try:
            handle, _ = master.create_session(proto.GraphDef(), config, target=task.target)
            master.close_session(handle)
        finally:
            master.close()

    with server() as task:
        create(task)
    for words in ({"allow": "none"}, {"bind": "0.0.0.0"}):
        with server(**words) as task, pytest.raises(tf.errors.PermissionDeniedError, match="clusters"):
            create(task)


def test_only_in_some_folders(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_bytes(folder.name.encode())
    (inside / "link").symlink_to(outside / "file")

    def reading(path):
        return lambda: tf.io.read_file(str(path))

    with server(allow=f"files:{inside}") as task:
        assert run_from_outside(task, reading(inside / "file")) == b"in"
        for path in (
            outside / "file",
            inside / "link",
            inside / ".." / "out" / "file",
            f"file://{outside}/file",
        ):
            with pytest.raises(tf.errors.PermissionDeniedError, match="only files in"):
                run_from_outside(task, reading(path))

        def in_call():
            @Defun()
            def inner():
                return tf.io.read_file(str(outside / "file"))

            return inner()

        with pytest.raises(tf.errors.PermissionDeniedError, match="only files in"):
            run_from_outside(task, in_call)

        def by_reader():
            queue = tf.FIFOQueue(2, [tf.string], shapes=[[]])
            value = tf.WholeFileReader().read(queue)[1]  # waits for the name that comes later
            with tf.control_dependencies([queue.enqueue([str(outside / "file")])]):
                return tf.identity(value)

        with pytest.raises(tf.errors.PermissionDeniedError, match="only files in"):
            run_from_outside(task, by_reader)
        with tf.Graph().as_default(), tf.Session(task.target) as session:  # of the server's own process
            assert session.run(tf.io.read_file(str(outside / "file"))) == b"out"


def test_a_saver_of_a_cluster_works_by_default(tmp_path):
    with server() as task, tf.Graph().as_default() as graph:
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        saver = tf.train.Saver(sharded=True)
        names = [v.initializer.name, saver.saver_def.save_tensor_name, saver.saver_def.restore_op_name]
        master = RemoteMaster(task.address, Security())
        handle, _ = master.create_session(graph.as_graph_def(), proto.ConfigProto())
        path = saver.saver_def.filename_tensor_name
        given = {path: np.array(str(tmp_path / "model").encode(), object)}
        master.run(handle, {}, [], [names[0]])
        master.run(handle, given, [names[1]], [])
        master.run(handle, given, [], [names[2]])
        master.close_session(handle)
        master.close()
    assert tf.train.checkpoint_exists(str(tmp_path / "model"))
