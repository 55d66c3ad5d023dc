from counted_files import counted

__all__ = ["counted"]
