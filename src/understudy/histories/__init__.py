"""People with histories: linked tables measured and drawn as views of persons and of steps, under one promise."""
