"""PrivBayes of DataSynthesizer, two parents (pure differential privacy: delta is not used).

Its noise comes from a seed that is 0 unless one is given; each run here gets another. Its levels are the public ones.
"""

import json
import secrets
import tempfile
from pathlib import Path

import pandas as pd
from common import run
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def make(codes, sizes, epsilon, delta):
    folder = Path(tempfile.mkdtemp())
    names = list(sizes)
    # a letter before each code: it reads the file by itself, and plain digits would become numbers that match no level
    codes.astype(str).radd("v").to_csv(folder / "in.csv", index=False)
    domains = folder / "domains.json"
    domains.write_text(json.dumps({name: [f"v{code}" for code in range(size)] for name, size in sizes.items()}))
    describer = DataDescriber(category_threshold=1000)
    describer.describe_dataset_in_correlated_attribute_mode(
        str(folder / "in.csv"),
        k=2,
        epsilon=epsilon,
        attribute_to_datatype=dict.fromkeys(names, "String"),
        attribute_to_is_categorical=dict.fromkeys(names, True),
        categorical_attribute_domain_file=str(domains),
        seed=secrets.randbits(31),
    )
    description = str(folder / "description.json")
    describer.save_dataset_description_to_file(description)

    def draw(rows):
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, description, seed=secrets.randbits(31))
        drawn = pd.DataFrame(generator.synthetic_dataset)
        return {name: drawn[name].str.slice(1).astype(int) for name in names}

    return draw


run(make)
