"""The backend of Iris: whole programs on its cluster, through the client in C++."""

__all__: list[str] = []
