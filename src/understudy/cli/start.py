"""Where the program begins: before anything heavy is read, so that Ctrl-C is answered from the first moment on."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    try:
        from understudy.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted before anything began. Run it again.\n")
        sys.exit(130)
    run()
