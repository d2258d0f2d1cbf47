"""The Voila side: a launcher (`python -m negolab_widgets.dashboard`), a websocket guard, and the page's template."""
