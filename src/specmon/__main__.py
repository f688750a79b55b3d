"""`python -m specmon`."""

from __future__ import annotations

from specmon.cli import main

if __name__ == "__main__":
    main()
