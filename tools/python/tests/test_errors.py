"""What goes wrong comes with its place."""

import pickle

import pytest

import tokenline

MISTAKES = """\
scenario: mistakes
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine:
  max_num_sequences: 64
  block_size: 0
traffic:
  chat:
    arrival: {process: poisson, rate: 10/s}
    stop: 1 s
    prompt_tokens: 100
    output_tokens: 10
"""


def test_every_mistake_comes_with_its_place_and_hint():
    with pytest.raises(tokenline.ConfigError) as caught:
        tokenline.load(MISTAKES)
    unknown, size = sorted(caught.value.diagnostics, key=lambda d: d.line)
    assert (unknown.line, unknown.column) == (5, 3)
    assert unknown.path == "engine.max_num_sequences"
    assert "max_num_seqs" in unknown.hint
    assert (size.line, size.path) == (6, "engine.block_size")
    assert f"{size.file}:6:{size.column}: error: {size.path}: {size.message}" in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_an_override_is_checked_as_the_file_is(root):
    scenario = tokenline.load("scenarios/quickstart.yaml")
    with pytest.raises(tokenline.ConfigError) as caught:
        scenario.set("engine.max_num_seq", 64)
    assert caught.value.diagnostics[0].file == "--set engine.max_num_seq=64"
    with pytest.raises(TypeError, match="engine.max_num_seqs: a object"):
        scenario.set("engine.max_num_seqs", object())


def test_conditions_are_checked_before_a_run(root):
    with pytest.raises(tokenline.ConfigError, match="p99_tft"):
        tokenline.load("scenarios/quickstart.yaml", set={"assert": ["chat.p99_tft_ms < 3"]})


def test_errors_survive_a_process_boundary():
    with pytest.raises(tokenline.ConfigError) as caught:
        tokenline.load(MISTAKES)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.diagnostics == caught.value.diagnostics


def test_no_such_file_is_an_os_error():
    with pytest.raises(FileNotFoundError):
        tokenline.load("nowhere.yaml")


def test_a_directory_of_other_things_takes_no_results(root, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(tokenline.OutputError, match="not empty"):
        tokenline.run(tokenline.load("scenarios/quickstart.yaml")).write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
