"""Servers for the pages: a launcher (`python -m negolab_widgets.server`), and Voila behind a gate.

Start with `launcher.py`; `gate.py` checks visitors, `guard.py` filters messages to kernels.
"""

from negolab._internal.lean import skip_iri_parser

skip_iri_parser()
