"""Where the program begins: before anything heavy is read, so that Ctrl-C is answered from the first moment on."""

import signal
import sys
from typing import NoReturn

from understudy.interrupts import not_while_importing


def main() -> NoReturn:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, not_while_importing(signal.default_int_handler))
    try:
        from understudy.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted before anything began. Run it again.\n")
        sys.exit(130)
    try:
        run()
    finally:  # it has said how it ended: a Ctrl-C that comes now ends Python without a traceback
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
