"""How good a release is, and how risky. Everything computed here reads confidential data and is not for release."""
