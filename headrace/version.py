"""Our own version, and the version of TensorFlow whose language we speak.  Public as `tf.version`."""

__version__ = "0.1.0"
TF_VERSION = VERSION = "1.15.5"
GIT_VERSION = f"headrace-{__version__}"
COMPILER_VERSION = "none"
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0
