"""Makes man pages and completions while a wheel is built: nothing that the build can make is committed. The rest is in pyproject.toml.

A wheel has the completions twice: in the package, for `metashell completion`, and in share/, where shells look for them. An editable
install has neither; there `metashell completion` makes them from the source.
"""

import sys
from collections.abc import Iterator
from distutils.command.install_data import install_data  # setuptools provides it
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# Build frontends do not have the directory of this file on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

PLACES = {
    "man": "share/man/man1",
    "completions/bash": "share/bash-completion/completions",
    "completions/zsh": "share/zsh/site-functions",
    "completions/fish": "share/fish/vendor_completions.d",
}
"""Where what is made below a folder is installed, below the prefix of the environment."""


def generated() -> dict[str, str]:
    """The texts of all pages and completions, by their paths in a checkout after `make generated`."""
    from tools import gen_completions, gen_man

    return {**gen_man.pages(), **gen_completions.files()}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class BuildPackage(build_py):
    """The package with its completions."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for path, text in self._completions():
                write(path, text)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        made = [] if self.editable_mode else [str(path) for path, _ in self._completions()]
        return [*super().get_outputs(include_bytecode), *made]

    def _completions(self) -> Iterator[tuple[Path, str]]:
        for name, text in generated().items():
            if name.startswith("completions/"):
                yield Path(self.build_lib, "metashell", name), text


class InstallData(install_data):
    """The pages and completions where man and shells look for them."""

    def run(self) -> None:
        for name, text in generated().items():
            folder, _, file_name = name.rpartition("/")
            path = Path(self.install_dir, PLACES[folder], file_name)
            write(path, text)
            self.outfiles.append(str(path))


setup(
    cmdclass={"build_py": BuildPackage, "install_data": InstallData},
    # Without an entry here the command above is not run.
    data_files=[(place, []) for place in PLACES.values()],
)
