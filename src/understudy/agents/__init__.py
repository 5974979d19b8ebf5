"""A data set for programs that nobody trusts: an MCP server whose every word is public or paid for.

An agent may be a language model on another continent, and whatever it is told leaves the house. So it names things by
the names that the holder gave them and never by a path, it pays for figures out of an allowance of the data set's
account, and errors that may speak of rows go to a log of the holder (``phases``). See decision 0183.
"""
