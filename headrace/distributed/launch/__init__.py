"""Starting the tasks of a cluster, here or as actors of Ray; asking running ones how they are."""
