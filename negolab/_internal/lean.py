"""Parts that our processes leave out of the packages that they import."""

from __future__ import annotations

import sys


def skip_iri_parser() -> None:
    """Keep jsonschema, which Jupyter's packages import, from building an Earley parser for IRIs, which takes three CPU
    seconds.

    jsonschema then lacks its formats `iri` and `iri-reference`, which no Jupyter schema uses. Call this before the
    first import of nbformat, and only in a process that is all ours, because other code may check IRIs.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
