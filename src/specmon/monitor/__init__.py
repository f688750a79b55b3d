"""One server's state from its events, a session of servers, the verdict. Feeds screen and reports alike."""
