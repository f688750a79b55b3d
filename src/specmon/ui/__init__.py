"""The Textual screen. It draws what the monitor says and computes no statistics."""
