"""Builds the worker's wheel with the standard library alone, so that installing it needs neither setuptools nor the network."""

import base64
import hashlib
import pathlib
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent


def get_requires_for_build_wheel(config_settings=None):
    """Nothing."""
    return []


get_requires_for_build_editable = get_requires_for_build_wheel


def digest(data):
    """As RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(folder, files):
    """A wheel with `files` (name -> bytes) and the metadata of pyproject.toml; its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = stem + ".dist-info/"
    scripts = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    metadata = (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
                f"Requires-Python: {project['requires-python']}\n")
    wheel = "Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**files, info + "METADATA": metadata.encode(), info + "WHEEL": wheel.encode(),
             info + "entry_points.txt": ("[console_scripts]\n" + scripts).encode()}
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in files.items()) + f"{info}RECORD,,\n"
    target = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, info + "RECORD": record.encode()}.items():
            archive.writestr(name, data)
    return target


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The package's modules, and the timer's library where it was put beside them."""
    found = [*ROOT.glob("hillclimb_worker/**/*.py"), *ROOT.glob("hillclimb_worker/*.so")]
    return write_wheel(wheel_directory, {str(path.relative_to(ROOT)): path.read_bytes() for path in sorted(found)})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A path to the sources."""
    return write_wheel(wheel_directory, {"hillclimb_worker.pth": f"{ROOT}\n".encode()})
