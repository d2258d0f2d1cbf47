"""The texts of the table of bargaining, which a study can say otherwise (`[texts.bargaining]`)."""

from negolab.texts import Texts

WORDS = Texts("bargaining", __file__)
