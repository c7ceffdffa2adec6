"""Tools by Kafka's own names, with the command lines, output and exit statuses of Apache Kafka 4.4.0."""
