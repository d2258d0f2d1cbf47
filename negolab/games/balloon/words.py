"""The texts of the table of balloon, which a study can say otherwise (`[texts.balloon]`)."""

from negolab.texts import Texts

WORDS = Texts("balloon", __file__)
