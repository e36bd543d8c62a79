"""Functions of graphs: Defun, templates, custom gradients, modules."""
