"""Our own version, and the version of TensorFlow whose language we speak."""

__version__ = "0.1.0"
TF_VERSION = "1.15.5"
