"""Speed and memory as ratios taken in one run: these machines are noisy, so absolute seconds mean little."""
