"""PrivBayes of DataSynthesizer, two parents (pure differential privacy: delta is not used)."""

import json
import tempfile
from pathlib import Path

import pandas as pd
from common import run
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def make(codes, sizes, epsilon, delta):
    folder = Path(tempfile.mkdtemp())
    names = list(sizes)
    codes.astype(str).to_csv(folder / "in.csv", index=False)
    describer = DataDescriber(category_threshold=1000)
    describer.describe_dataset_in_correlated_attribute_mode(
        str(folder / "in.csv"),
        k=2,
        epsilon=epsilon,
        attribute_to_datatype=dict.fromkeys(names, "String"),
        attribute_to_is_categorical=dict.fromkeys(names, True),
    )
    describer.save_dataset_description_to_file(str(folder / "description.json"))
    json.loads((folder / "description.json").read_text())

    def draw(rows):
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, str(folder / "description.json"))
        return pd.DataFrame(generator.synthetic_dataset)[names].astype(int)

    return draw


run(make)
