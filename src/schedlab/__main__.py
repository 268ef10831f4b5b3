"""Runs the command line for `python -m schedlab`, the same as the `schedlab` script."""

from schedlab.cli import main

if __name__ == "__main__":
    main()
