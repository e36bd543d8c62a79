"""Session.run: plan, place, improve, split, prepare, run; remembered by signature."""
