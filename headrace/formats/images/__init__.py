"""Pictures and sounds as bytes."""
