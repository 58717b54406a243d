"""cli/alive/: `skoupa alive status|confirm|delete|wait`."""
