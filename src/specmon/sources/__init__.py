"""Where bytes come from: SSH, local files, stdin, replay; following, framing and discovery."""
