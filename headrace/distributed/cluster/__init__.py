"""What the cluster is: jobs and tasks by address, and which task gets which variable."""
