"""What can be watched from outside: the catalogue of metrics."""
