"""One page that a disclosure board can read. It shows confidential figures and is itself confidential."""
