"""The version of negolab, its only definition."""

__version__ = "0.2.0"
