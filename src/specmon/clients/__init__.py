"""Results of load generators: what a client measured, to hold against what a server's log says."""
