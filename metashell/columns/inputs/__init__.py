"""What to read: the files that paths and URIs stand for, and the splits of them. Nothing here needs numpy."""
