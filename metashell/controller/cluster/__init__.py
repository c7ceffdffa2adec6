"""Brokers and controllers: who is registered, who is alive, what they support, and what a controller says of the cluster."""
