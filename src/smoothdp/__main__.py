"""The command line as a module: ``python -m smoothdp`` is the command ``smoothdp``."""

from smoothdp.cli.main import main

if __name__ == "__main__":
    main()
