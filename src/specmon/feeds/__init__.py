"""What fills a session: live sources, or captured logs played by their clock."""
