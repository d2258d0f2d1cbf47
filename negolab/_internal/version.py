"""The version of negolab, its only definition."""

__version__ = "0.1.0"
