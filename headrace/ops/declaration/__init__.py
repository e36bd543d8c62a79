"""How an op is declared and built: signature, traits, samples, shape rules, conversion of arguments."""
