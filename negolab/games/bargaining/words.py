"""The texts of the bargaining table, which a study can change (`[texts.bargaining]`)."""

from negolab.texts import Texts

WORDS = Texts("bargaining", __file__)
