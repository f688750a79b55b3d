"""Pure numbers: runs, clean samples, levels, comparison, drift. No I/O, no clock, no screen."""
