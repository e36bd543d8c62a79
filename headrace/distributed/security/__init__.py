"""What guards a task: where it listens, who may call it, what graphs of others may do, and how much."""
