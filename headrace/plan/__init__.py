"""The runnable form of a graph for one signature (what is fed, what is fetched): immutable."""
