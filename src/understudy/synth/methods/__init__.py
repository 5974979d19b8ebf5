"""The methods of synthesis: one file each, found by `understudy.synth.registry`."""
