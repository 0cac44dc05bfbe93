"""Drives real Kafka clients against a broker and compares what they wrote with what they read."""
