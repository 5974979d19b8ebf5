"""What an intruder would learn: one metric per file. All of it reads confidential data; nothing is for release."""
