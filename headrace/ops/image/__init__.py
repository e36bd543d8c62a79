"""Images and sounds: codecs, colours, crops, resizes, boxes."""
