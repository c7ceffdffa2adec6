"""What is asked of a rehearsal, in words: steps, their times, plans in TOML, and assumptions.

It reads text and gives values; every error names the word at fault. Help, completions and plans have one grammar, that of `step_words`.
"""
