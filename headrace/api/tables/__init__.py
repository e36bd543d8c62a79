"""Which public name of TF 1.15 is where: a table for each family."""
