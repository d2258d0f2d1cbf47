"""The board of a sweep."""

from negolab_widgets.board.board import SweepBoard

__all__ = ["SweepBoard"]
