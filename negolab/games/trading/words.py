"""The texts of the table of trading, which a study can say otherwise (`[texts.trading]`)."""

from negolab.texts import Texts

WORDS = Texts("trading", __file__)
