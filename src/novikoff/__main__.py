"""`python -m novikoff` is `novikoff`."""

from novikoff.cli.main import program

program()
