"""A real model on this machine, without a key: its weights, and a server for it in a process of its own."""
