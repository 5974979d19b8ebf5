"""Damaged files, made by the thousand: every loader answers each of them with a sentence or reads it."""
