"""Rules: cases by type, the most specific first, and an error that says what to do."""

import pytest

from mercer.errors import NoRule
from mercer.kernels.rules import Rule


class Animal: ...


class Dog(Animal): ...


class Puppy(Dog): ...


class Tame: ...


class Pet(Tame, Animal): ...


@pytest.fixture
def sound():
    rule = Rule("sound", "listen to it")

    @rule(Animal)
    def _animal(animal, volume=1):
        return "noise" * volume

    @rule(Dog)
    def _dog(animal):
        return "woof"

    return rule


def test_subclasses_use_the_nearest_case(sound):
    assert sound.apply(Animal()) == "noise"
    assert sound.apply(Dog()) == sound.apply(Puppy()) == "woof"


def test_method_resolution_order_decides_between_parents(sound):
    assert sound.apply(Pet()) == "noise"
    sound(Tame)(lambda animal: "purr")
    assert sound.apply(Pet()) == "purr"


def test_further_arguments_are_passed_on(sound):
    assert sound.apply(Animal(), 2) == sound.apply(Animal(), volume=2) == "noisenoise"


def test_no_rule_is_a_type_error_that_says_what_to_do(sound):
    with pytest.raises(NoRule, match="no sound of int: listen to it"):
        sound.apply(3)
    assert issubclass(NoRule, TypeError)


def test_two_arguments_and_the_first_decides_first():
    meet = Rule("meeting", "keep them apart", arguments=2)
    meet(Animal, Dog)(lambda a, b: "animal meets dog")
    meet(Dog, Animal)(lambda a, b: "dog meets animal")
    assert meet.apply(Animal(), Puppy()) == "animal meets dog"
    assert meet.apply(Dog(), Dog()) == "dog meets animal"
    with pytest.raises(NoRule, match="no meeting of Animal and Tame: keep them apart"):
        meet.apply(Animal(), Tame())


def test_case_returns_the_function_itself(sound):
    def cat(animal):
        return "meow"

    assert sound(Tame)(cat) is cat
    assert sound.find(Tame()) is cat


def test_a_case_is_given_once_and_for_types(sound):
    with pytest.raises(ValueError, match=r"Rule\('sound'\) already has a case for Dog"):
        sound(Dog)(lambda animal: "bark")
    with pytest.raises(TypeError, match="needs 1 types"):
        sound(Dog, Animal)
    with pytest.raises(TypeError, match="needs 1 types"):
        sound(Dog())
