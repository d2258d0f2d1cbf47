"""`python -m negolab_widgets.server`: start the pages, or JupyterLab, with the options that `negolab` passes on."""

from __future__ import annotations

import os
import signal
import sys

from negolab._internal.files import error_sentence
from negolab.cli.serve import OPTIONS
from negolab_widgets.server.launcher import parse_options, run
from negolab_widgets.server.logs import print_warning


def main() -> None:
    """Run a server; print an error as one line to stderr and exit with code 2."""
    # A handler set here reverts to the default in the children, even if we were started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(run(parse_options(os.environ.pop(OPTIONS, ""))))
    except KeyboardInterrupt:
        sys.exit(0)
    except (OSError, RuntimeError, ValueError) as error:
        print_warning(error_sentence(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
