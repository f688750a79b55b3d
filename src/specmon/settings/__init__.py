"""What a user has settled once: the settings file, and how it, the environment and the command line come together."""
