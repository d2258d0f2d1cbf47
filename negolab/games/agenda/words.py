"""The texts of the agenda table, which a study can change (`[texts.agenda]`); a scenario has its own."""

from negolab.texts import Texts

WORDS = Texts("agenda", __file__)
