"""A light grammar: kinds of words by lists and endings, and what stands around a noun.

No tagger and no parser: closed classes are listed, verbs that are common and irregular are listed too, and for all
other words the ending decides. That is often wrong, and good enough for a feature.
"""

from __future__ import annotations

from pinakes.reproduce.contexts import Words, stem


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


POSSESSIVES = _listed("my your his her its our their whose")
DETERMINERS = _listed("a an the this that these those every each some any no another either neither all both")
PREPOSITIONS = _listed(
    "of in on at by for with from to into onto over under about after before between through during against within "
    "without upon across along among around behind below beside beyond near off out since toward towards until up down "
    "as than like"
)
PRONOUNS = _listed(
    "i you he she it we they me him us them himself herself itself themselves myself yourself one someone anyone "
    "everyone nobody who whom what which"
)
AUXILIARIES = _listed(
    "is am are was were be been being has have had do does did will would can could may might must shall should"
)
CONJUNCTIONS = _listed("and or but nor yet so if because although while whereas")
VERBS = _listed(
    "said made went took came saw gave found thought told became left felt put brought began kept held wrote "
    "stood heard let meant set met ran paid sat spoke lay led read grew lost fell sent built drew broke spent cut "
    "rose drove bought wore chose make take go come see give find think tell become leave feel bring begin keep "
    "hold write stand hear run pay sit speak lead grow lose fall send build draw break spend rise get got know "
    "knew want use need try ask work seem call open close show provide include offer"
)
FUNCTION_WORDS = (
    POSSESSIVES
    | DETERMINERS
    | PRONOUNS
    | AUXILIARIES
    | _listed("and or but if so to of in on at by for with from as not")
) | _listed("than then there here when where why how such only own same too very s t d ll re ve m two")

_KINDS = (
    ("possessive", POSSESSIVES),
    ("determiner", DETERMINERS),
    ("preposition", PREPOSITIONS),
    ("auxiliary", AUXILIARIES),
    ("pronoun", PRONOUNS),
    ("conjunction", CONJUNCTIONS),
    ("verb", VERBS),
)
_ENDINGS = (
    ("possessive", ("'s",)),
    ("adverb", ("ly",)),
    ("participle", ("ing",)),
    ("past", ("ed",)),
    ("adjective", ("ous", "ful", "ive", "able", "ible", "al", "ic", "ish", "less", "ary", "est")),
)
_MODIFIERS = frozenset({"adjective", "noun", "participle", "past", "number", "adverb"})
_OBJECTS = frozenset({"adjective", "noun", "participle", "number"})
_BETWEEN = frozenset({"determiner", "possessive", "adjective", "noun", "number"})
_VERBS = frozenset({"verb", "past", "auxiliary", "participle"})


def kind(word: str) -> str:
    """Guess the kind of a word.

    >>> [kind(w) for w in ("The", "quickly", "nation", "'", "whose", "12", "national")]
    ['determiner', 'adverb', 'noun', 'sign', 'possessive', 'number', 'adjective']
    """
    small = word.lower()
    if not small[0].isalpha():
        return "number" if small[0].isdigit() else "sign"
    if small == "s":  # of 's, cut off by a sign
        return "possessive"
    for name, words in _KINDS:
        if small in words:
            return name
    return next((name for name, endings in _ENDINGS if small.endswith(endings)), "noun")


def grammar(words: Words) -> list[str]:
    """Say what stands around the ambiguous noun in its sentence: one string for each thing found."""
    found = [*_left(words), *_right(words)]
    tokens, target = words.tokens, words.target
    for name, places in (
        ("verb before", range(target - 1, max(words.first, target - 7) - 1, -1)),
        ("verb after", range(target + 1, min(words.last, target + 6))),
    ):
        verb = next((tokens[k] for k in places if kind(tokens[k]) in _VERBS), None)
        if verb is not None:
            found.append(f"{name} {stem(verb)}")
    return found


def _left(words: Words) -> list[str]:
    """Walk left over the noun's modifiers to what begins the noun phrase, and on to a preposition and its owner."""
    tokens, target, first = words.tokens, words.target, words.first
    k = target - 1
    found = []
    while k >= first and kind(tokens[k]) in _MODIFIERS and target - k < 5:
        found.append(f"modifier {stem(tokens[k])}")
        k -= 1
    found.append(f"{target - 1 - k} modifiers")
    if k < first:
        return [*found, "begins the sentence"]
    begins = kind(tokens[k])
    found.append(f"begins {begins if begins in ('verb', 'sign') else tokens[k].lower()}")
    if begins in ("determiner", "possessive") and k > first:
        found += [f"ahead {tokens[k - 1].lower()}", f"ahead kind {kind(tokens[k - 1])}"]
    while k >= first and kind(tokens[k]) in _BETWEEN:
        k -= 1
    if k > first and tokens[k].lower() in PREPOSITIONS:
        preposition, owner = tokens[k].lower(), stem(tokens[k - 1])
        found += [f"under {preposition}", f"under {owner}", f"under {owner} {preposition}"]
    return found


def _right(words: Words) -> list[str]:
    """Give the preposition after the noun, and the object of it."""
    tokens, last = words.tokens, words.last
    k = words.target + 1
    if k >= last or tokens[k].lower() not in PREPOSITIONS:
        return []
    preposition = tokens[k].lower()
    found = [f"takes {preposition}"]
    k += 1
    while k < last and kind(tokens[k]) in ("determiner", "possessive"):
        found.append(f"takes {preposition} {tokens[k].lower()}")
        k += 1
    end = k
    while end < last and kind(tokens[end]) in _OBJECTS and end - k < 4:
        end += 1
    if end > k:
        found += [f"takes {stem(tokens[end - 1])}", f"takes {preposition} {stem(tokens[end - 1])}"]
    return found
