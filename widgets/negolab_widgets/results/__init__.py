"""The results of a sweep: choose what is drawn, of which matches, and take it along."""

from negolab_widgets.results.results import SweepResults

__all__ = ["SweepResults"]
