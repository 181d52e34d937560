"""The checks, grouped by the promise they test. ``registry`` says what a check is and lists them all."""
