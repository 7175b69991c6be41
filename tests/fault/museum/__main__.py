"""`python -m tests.fault.museum MUTANT worker …`: the command line with one bug in it."""

from __future__ import annotations

import sys

from mainspring.cli import main
from tests.fault.museum.mutants import MUTANTS

name = sys.argv.pop(1)
with MUTANTS[name].at_large():
    main()
