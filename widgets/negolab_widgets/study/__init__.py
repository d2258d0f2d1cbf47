"""The page of a study's participant, in `notebooks/dashboards/study.ipynb`."""

from negolab_widgets.study.opening import opened
from negolab_widgets.study.page import StudyPage

__all__ = ["StudyPage", "opened"]
