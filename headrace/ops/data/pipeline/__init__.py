"""What pipelines are made of: descriptions, iterators, their threads, functions and surroundings."""
