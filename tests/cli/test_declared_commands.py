"""Every flag that follows from a declaration: it has a help, takes its own default and example back, and is alone."""

from collections import Counter

import pytest
from typer.main import get_command

from understudy.cli.app import app, main
from understudy.cli.declared import DeclaredCommand
from understudy.commute.places import PublicTable


def declared(command, words=()):
    below = getattr(command, "commands", {})
    inner = [found for name, child in below.items() for found in declared(child, (*words, name))]
    return [(" ".join(words), command)] if isinstance(command, DeclaredCommand) else inner


COMMANDS = dict(declared(get_command(app)))


def test_the_commands_that_follow_from_declarations():
    assert set(COMMANDS) == {
        *("anonymize report", "anonymize risk", "anonymize run", "audit", "commute evaluate", "commute map"),
        *(
            "commute quote",
            "commute synth",
            "count",
            "diagnose",
            "forecast",
            "impute",
            "quote",
            "reconstruct files",
            "reconstruct risk",
        ),
        *("rumap", "synth", "train"),
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_no_flag_is_taken_twice(name):
    command = COMMANDS[name]
    command.take_flags(None)
    flags = Counter(flag for option in command.params for flag in (*option.opts, *option.secondary_opts))
    assert [flag for flag, times in flags.items() if times > 1] == []
    assert [option for option, times in Counter(option.name for option in command.params).items() if times > 1] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help_and_takes_its_default_and_its_example_back(name):
    for option in COMMANDS[name].declarations.find(None).values():
        assert option.help.endswith(".") and option.rule.words, option.name
        if option.default is not None and not option.is_required:
            plain = option.rule.plain(option.default)
            assert option.rule.read(option.name, plain) == option.default, option.name
        if not isinstance(option.rule, PublicTable):  # whose example is a file
            read = option.rule.read(option.name, option.rule.example)
            option.rule.check(option.name, read)


def test_the_remedy_of_diagnose_names_options_that_it_has(capsys):
    with pytest.raises(SystemExit):
        main(["diagnose", "data.csv", "-c", "data.toml", "--l", "2", "-m", "pegs"])
    remedy = " ".join(capsys.readouterr().err.split()).partition("understudy diagnose ")[2].rstrip(".")
    with pytest.raises(SystemExit):
        main(["diagnose", *remedy.split()])
    assert "No such option" not in capsys.readouterr().err and "--l" in remedy
