"""Elementary functions as vector code: range reduction and polynomials over the builder."""
