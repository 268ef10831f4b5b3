"""The command line, one file per verb.

Parses arguments, calls the layers below, prints data to stdout and everything else to stderr. A user's mistake ends
with exit code 2 and one hint, never with a traceback.
"""

from schedlab.cli.application import app, main

__all__ = ["app", "main"]
