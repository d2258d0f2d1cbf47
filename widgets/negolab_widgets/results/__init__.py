"""Results of a sweep: choose an outcome and a figure, and filter matches.

Start with `results.py`; `figures.py` draws, `board.py` shows the cells.
"""

from negolab_widgets.results.results import SweepResults

__all__ = ["SweepResults"]
