"""The texts of the table of an agenda, which a study can say otherwise (`[texts.agenda]`); a scenario has its own."""

from negolab.texts import Texts

WORDS = Texts("agenda", __file__)
