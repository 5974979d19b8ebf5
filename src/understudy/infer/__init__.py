"""Figures with honest intervals from a release alone: its rows, calibrated to the noisy measurements it carries.

Nothing here reads confidential data. All of it is post-processing of what was released.
"""
