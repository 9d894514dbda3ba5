"""`python -m plait` is the command `plait`."""

import sys

from .cli import main

sys.exit(main())
