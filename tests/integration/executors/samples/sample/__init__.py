"""What users might write, the unkind kind included; the hosts of the tests import it."""
