"""A task that plans the steps of sessions: a client's graph, its parts per task, a step as a pure machine."""
