"""Our own voice: JSON lines, and `--summary`. It tries every dialect, redacts secrets and decodes what lies inside records."""
