"""What came of a rehearsal, for people and programs: lines of text, objects of JSON, one HTML page.

Nothing is decided here but how it is said, and which steps cost records (`data_loss`): the first line and the exit status always agree.
"""
