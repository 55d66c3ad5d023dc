"""Facts about files as dataclasses: the one source for the command line and the viewer."""
