"""What a release of Kafka changed, and what that asks of this project: docs/new-release.md has the steps.

    python -m tools.release VERSION                    compares the release with this tree
    python -m tools.release VERSION --write            brings over what can be generated, and says what a person has to decide
    python -m tools.release VERSION --against OLDER    compares two releases
    python -m tools.release.golden FOLDER              makes golden data of the newest release

`jars.py` reads the facts of a release out of its jars (with `Facts.java`), `tree.py` those of this tree, `facts.py` compares the two and
`decisions.py` says what they ask of a person. `definitions.py` makes schema texts of Kafka's message definitions, `merging.py` brings a
release's text into one that knows older versions. `golden.py` makes golden data with real controllers.
"""
