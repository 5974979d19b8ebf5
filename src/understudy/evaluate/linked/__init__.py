"""How good synthetic linked tables are: people, their events, and what follows what. Nothing of it is for release."""
