"""The texts of the trading table, which a study can change (`[texts.trading]`)."""

from negolab.texts import Texts

WORDS = Texts("trading", __file__)
