"""What the parties agree on and send: the task, its formats, keys and files, and HTTP itself."""
