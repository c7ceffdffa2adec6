"""Real Kafka nodes on directories of ours: started on free ports of this machine, asked, and always stopped."""
