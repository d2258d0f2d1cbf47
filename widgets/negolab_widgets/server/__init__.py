"""The dashboard's servers: a launcher (`python -m negolab_widgets.server`) and Voila behind checks of our own."""
