"""The suites, one file each: ``run(options) -> Report``."""
