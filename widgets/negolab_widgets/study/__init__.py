"""Pages of a study: the participant's, in `notebooks/dashboards/study.ipynb`, and the monitor.

Start with `page.py`; `monitor.py` is for the researcher.
"""

from negolab_widgets.study.page import StudyPage, open_study_page

__all__ = ["StudyPage", "open_study_page"]
