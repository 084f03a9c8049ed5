# Install rules come with the targets that exist; see docs/hacking.md.
