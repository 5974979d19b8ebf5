"""What analysts would still learn: one metric per file."""
