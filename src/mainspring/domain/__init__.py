"""Pure words, states and decisions: no clock, no database, no processes."""
