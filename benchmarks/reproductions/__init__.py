"""Published figures, run again: each study is a program that writes JSON and Markdown, and `__main__` continues all of them."""
