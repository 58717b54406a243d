"""Commands for the installation: `install`, `uninstall`."""
