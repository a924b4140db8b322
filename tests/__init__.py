"""The tests of mercer: rooms as in the sources, and `support`, what they share."""
