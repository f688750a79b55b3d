"""One module a command: from settings to a call, nothing else."""
