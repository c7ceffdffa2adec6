"""Prints what self-fencing brokers cost and buy: `python -m tests.simulation.brokers`."""

from tests.simulation.brokers.costs import rows, table

if __name__ == "__main__":
    print(table(rows()), end="")
