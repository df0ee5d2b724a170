"""What the documentation site is built with: its pictures, and the full help of every command."""
