"""Environment variables by which the launcher tells a page where its records are."""

OUT = "NEGOLAB_OUT"
"""The folder that keeps what is played."""

SOURCE = "NEGOLAB_RECORDS"
"""The file or folder that a replay opens."""

MODULE = "NEGOLAB_MODULE"
"""The module or file of a game that is not ours, so that its records can be read."""

SEATS = "NEGOLAB_SEATS"
"""The host's socket for participants' pages."""

DESK = "NEGOLAB_DESK"
"""The host's socket for the researcher's pages."""

SWEEP = "NEGOLAB_SWEEP"
"""The folder of the sweep that the page of results shows."""
