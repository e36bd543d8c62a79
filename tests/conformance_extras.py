"""Features that TF 1.15 has outside its public interface, offered to the conformance harness."""

NAMES: dict[str, object] = {}
