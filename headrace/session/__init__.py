"""Session.run: plan, improve, place, split, prepare, run; remembered by signature."""
