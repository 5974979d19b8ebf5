"""Samplers: compiled, exact draws of rows from tables."""
