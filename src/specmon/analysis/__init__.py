"""Pure numbers: which samples count, levels, estimates, comparison, drift. No I/O, no clock, no screen."""
