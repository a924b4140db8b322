"""The scoreboard: mercer and its peers, call against call, at sizes from 50 to 20,000."""
