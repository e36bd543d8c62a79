"""How messages of a step go from task to task: frames, the channels that carry them, who reads them."""
