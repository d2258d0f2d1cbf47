"""The texts of the balloon table, which a study can change (`[texts.balloon]`)."""

from negolab.texts import Texts

WORDS = Texts("balloon", __file__)
