"""`python -m headwater ...`: the command line."""
from .cli import main

raise SystemExit(main())
