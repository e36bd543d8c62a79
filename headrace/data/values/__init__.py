"""The forms of elements: nests, descriptions, functions of them, options."""
