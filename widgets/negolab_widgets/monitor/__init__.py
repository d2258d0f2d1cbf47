"""The researcher's view of a study at work."""

from negolab_widgets.monitor.monitor import Monitor

__all__ = ["Monitor"]
