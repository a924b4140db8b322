"""`python -m mercer` is the `mercer` command."""

from mercer.cli import main

if __name__ == "__main__":
    main()
