"""`import headrace.as_tensorflow`: afterwards `import tensorflow as tf` means headrace."""

from headrace.api.stand_in import install

install()
