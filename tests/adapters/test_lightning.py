"""Lightning's Trainer over a feed: a checkpoint in the middle of an epoch goes on with the next batch."""

from __future__ import annotations

import pytest
from few_digits import few_digits

pytestmark = [
    pytest.mark.lightning,
    # What Lightning 2.6 says of one worker, and calls in torch 2.13.
    pytest.mark.filterwarnings("ignore::lightning.fabric.utilities.warnings.PossibleUserWarning"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Your `IterableDataset` has `__len__` defined"),  # It says that it may be wrong.
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),
    pytest.mark.filterwarnings("ignore:You are using `torch.load`:FutureWarning"),  # Lightning's call, in torch 2.5.
]
EPOCHS, BATCHES = 3, 10


@pytest.fixture
def lightning():
    import lightning
    import torch

    torch.set_num_threads(1)
    return lightning


@pytest.fixture
def digits(lightning):
    """A classifier of digits that notes which rows each step saw."""
    import torch

    class Digits(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(784, 10)
            self.seen = []

        def training_step(self, batch, _number):
            self.seen.append((self.current_epoch, batch["label"].tolist()))
            return torch.nn.functional.cross_entropy(self.layer(batch["image"] / 255), batch["label"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    return Digits


def by_threads(folder):
    from wellfed.adapters.torch import TorchLoader

    return TorchLoader(few_digits(folder))


def by_workers(workers):
    def make(folder):
        from torchdata.stateful_dataloader import StatefulDataLoader

        from wellfed.adapters.torch import TorchDataset

        return StatefulDataLoader(TorchDataset(few_digits(folder)), batch_size=None, num_workers=workers)

    return make


LOADERS = {"TorchLoader": by_threads, "StatefulDataLoader": by_workers(0), "two workers": by_workers(2)}


def trainer(lightning, folder, **options):
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    place = {"accelerator": "cpu", "devices": 1, "default_root_dir": folder}
    return lightning.Trainer(max_epochs=EPOCHS, **quiet, **place, **options)


IN_AN_EPOCH = {"every_n_train_steps": BATCHES + 4}
AFTER_ITS_LAST_STEP = {"every_n_train_steps": 2 * BATCHES}
AT_ITS_END = {"every_n_epochs": 2}
# Between epochs Lightning 2.6 loads no state of a torchdata loader: docs/adapters.md says so.
CASES = [*((name, IN_AN_EPOCH) for name in LOADERS), ("TorchLoader", AFTER_ITS_LAST_STEP), ("TorchLoader", AT_ITS_END)]


@pytest.mark.parametrize(("loader", "often"), CASES)
def test_training_that_died_goes_on_from_its_checkpoint_to_the_same_weights(lightning, digits, tmp_path, loader, often):
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    make, steps = LOADERS[loader], often.get("every_n_train_steps", 2 * BATCHES)

    class Dies(digits):
        def on_train_batch_start(self, *_):
            if len(self.seen) == steps + 3:
                raise RuntimeError("out of memory")

    whole, dies, resumed = digits(), Dies(), digits()
    trainer(lightning, tmp_path, enable_checkpointing=False).fit(whole, make(tmp_path))
    keep = ModelCheckpoint(tmp_path / "checkpoints", "{step}", save_top_k=-1, **often)
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer(lightning, tmp_path, callbacks=[keep]).fit(dies, make(tmp_path))
    saved = tmp_path / "checkpoints" / f"step={steps}.ckpt"
    trainer(lightning, tmp_path, enable_checkpointing=False).fit(resumed, make(tmp_path), ckpt_path=saved)

    assert len(whole.seen) == EPOCHS * BATCHES
    assert dies.seen[:steps] + resumed.seen == whole.seen
    assert torch.equal(resumed.layer.weight, whole.layer.weight)
