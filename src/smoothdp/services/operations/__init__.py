"""What keeps a service running among strangers: connections, clocks, health, logs, migrations."""
