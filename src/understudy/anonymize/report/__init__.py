"""One page about an anonymised release, for a disclosure board."""
