"""Programs on disk, named by everything that decides them."""
