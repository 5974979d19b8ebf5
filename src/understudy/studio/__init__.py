"""The studio: the steward's whole path in a browser, on the steward's own machine.

It stands beside the command line: it calls the facade and draws pages. All it keeps are files below one root folder
(`workspace.py`), so that either of the two can continue what the other began.
"""
