"""Where programs run: `local` in this process, `native` on this machine's cores. Independent of one another."""
