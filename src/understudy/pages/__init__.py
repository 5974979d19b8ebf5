"""The look of every page and picture: one HTML shell, one module of charts."""
