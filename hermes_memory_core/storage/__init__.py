"""How bytes reach the disk and stay there: atomic files, locks, SQLite, schema steps. Knows no memory."""
