"""What the environment says about connections."""

from __future__ import annotations

import pytest

import headrace as tf
from headrace.distributed.security.settings import Security


def test_everything_has_a_word(tmp_path):
    (tmp_path / "secret").write_text("word\n")
    found = Security.from_environment(
        {
            "HEADRACE_CLUSTER_SECRET_FILE": str(tmp_path / "secret"),
            "HEADRACE_TLS_CERT": "c",
            "HEADRACE_TLS_KEY": "k",
            "HEADRACE_TLS_CA": "a",
            "HEADRACE_TLS_NAME": "n",
            "HEADRACE_BIND": "b",
            "HEADRACE_ALLOW": "files",
        }
    )
    assert found == Security("word", "c", "k", "a", "n", "b", "files")
    assert "word" not in repr(found)
    assert Security.from_environment({}) == Security()


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_secret_file_without_a_secret_is_an_error_and_not_a_cluster_without_one(tmp_path, content):
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(tf.errors.FailedPreconditionError, match="HEADRACE_CLUSTER_SECRET_FILE"):
        Security.from_environment({"HEADRACE_CLUSTER_SECRET_FILE": str(path)})


def test_a_certificate_needs_its_key():
    with pytest.raises(tf.errors.InvalidArgumentError, match="HEADRACE_TLS_KEY is not given"):
        Security(certificate="c")
    with pytest.raises(tf.errors.InvalidArgumentError, match="HEADRACE_TLS_CERT is not given"):
        Security.from_environment({"HEADRACE_TLS_KEY": "k"})
