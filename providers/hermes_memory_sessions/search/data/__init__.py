"""Generated data files and the tool that makes them."""
