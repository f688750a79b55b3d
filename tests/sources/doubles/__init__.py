"""Small scripts that behave like programs which cannot be had in a test, with their real output formats."""
