"""The page of a study's participant, in `notebooks/dashboards/study.ipynb`."""

from negolab_widgets.study.page import StudyPage, open_study_page

__all__ = ["StudyPage", "open_study_page"]
