"""Plan -> better plan, independent of devices.  `pipeline.PIPELINE` is the ordered list."""
