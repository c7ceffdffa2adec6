"""How a typed line could go on, without a word about terminals.

`complete` takes the text before the cursor and gives candidates in the order in which people want them, each with what it is. It reads the
image that commands see, runs nothing, and looks at no more than a bounded number of names.
"""
