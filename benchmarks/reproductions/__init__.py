"""Published figures, run again: each file is a program that writes JSON and Markdown."""
