"""The demo: a loopback SSH server that plays the bundled captures, and the story it tells."""
