"""The current state as tables: what an image holds, each thing once, however many copies of its log were given."""
