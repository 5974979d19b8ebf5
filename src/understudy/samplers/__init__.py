"""Blocks to rows: compiled exact draws."""
