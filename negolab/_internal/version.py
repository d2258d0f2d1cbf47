"""The version of negolab, defined only here."""

__version__ = "0.2.0"
