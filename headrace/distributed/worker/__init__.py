"""A task that runs parts of steps: registered graphs, the steps under way, values for other tasks."""
