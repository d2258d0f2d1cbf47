"""What processes of ours leave out of the packages that they import."""

from __future__ import annotations

import sys


def skip_iri_parser() -> None:
    """Keep jsonschema, which Jupyter's packages import, from building an Earley parser of IRIs: three CPU seconds.

    jsonschema goes without its formats `iri` and `iri-reference` then, which no schema of Jupyter's has. To be called
    before the first import of nbformat, and only in a process that is all ours: other code may check IRIs.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
