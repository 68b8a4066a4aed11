"""Draw the sample of WordNet noun glosses that comes with Pinakes.

    python examples/make_wordnet_sample.py WORDNET-NOUNS-FOLDER [OUT-FOLDER]

The input folder holds ``taxonomy.tsv``, ``train.jsonl.xz`` and ``test.jsonl.xz``: every noun synset of
WordNet 3.0 is a document (its gloss), labelled with its direct hypernyms. The output folder, by default that
of the package, gets the same three files, much smaller. The same input gives the same bytes. The rule:

1. *Fields.* Only what lies below one of `FIELDS` and not below one of `OUTSIDE` is used: nameable kinds of
   thing. Groups of living things (genera, families) lie elsewhere in WordNet and so stay out. WordNet's two
   nodes for food are made one, and so are those for substance.
2. *Glosses.* Single people (a gloss with years of life), insults and other words marked as offensive, glosses
   of fewer than three words, and repeated glosses are left out.
3. *Categories.* From the bottom up, a category gathers its own glosses and those below that found no category
   yet. It stays if there are at least `ENOUGH` of them, its name is plain (every word of it is in at least
   `PLAIN` glosses and it is not in `VAGUE`) and unshared (of several with one name, the one with the most
   glosses of its own stays). Otherwise it hands its glosses to its parents; a gloss that comes up on two ways
   gets two labels.
4. *Draw.* A category with m glosses gives `DRAW` times sqrt(m) of them, in an order that is random but fixed:
   large categories stay larger, and none drowns the rest.
5. *Edges.* A category lies below the nearest categories above it in WordNet; `TOP` holds the fields together.
6. *Split.* `TEST_SHARE` of each category, and at least one gloss, is for testing.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

FIELDS = {
    "00015388": "animal",
    "00017222": "plant",
    "12992868": "fungus",
    "00021265": "food",
    "00021939": "artifact",
    "00020090": "substance",
    "00007846": "person",
    "05220461": "body part",
    "14052046": "ill health",
    "14299637": "symptom",
    "07480068": "emotion",
    "07020895": "music",
    "09287968": "geological formation",
    "09239740": "celestial body",
    "11524662": "weather",
    # of acts, those that people would name as a kind of thing
    "00426928": "diversion",
    "00455599": "game",
    "00582388": "occupation",
    "00606093": "craft",
    "00766234": "crime",
    "00295701": "travel",
    "00624738": "exercise",
    "00671351": "operation",
    "00952963": "military action",
    "01027379": "ceremony",
    "01090446": "commerce",
}
OUTSIDE = {
    "09620078": "inhabitant",
    "09620794": "native",
    "09636106": "person of color",
    "09638875": "White",
    "09634494": "African",
    "09681351": "Jew",
    "06394865": "book of the Bible",
    "09831962": "bad person",
    "09631463": "unpleasant person",
}
TOP = {"00001740": "entity", "00004258": "living thing", "00030358": "act"}
SAME = {"07555863": "00021265", "00019613": "00020090"}  # food, substance
# fmt: off
VAGUE = {
    "agent", "area", "case", "connection", "control", "creation", "cut", "head", "line", "lover", "medium",
    "member", "party", "position", "process", "product", "representation", "section", "side",
    "structural member", "surface", "system", "unfortunate", "upright", "use", "user", "way", "work", "young",
    "carnivorous bat", "craniometric point", "hired hand", "nonsteroidal anti-inflammatory", "religious",
    "simple protein",
}
# fmt: on
LEFT_OUT = re.compile(
    r"\b(slurs?|offensive|derogatory|disparag\w+|obscen\w+|vulgar|insulting|pejorative|sexual\w*|racist|prostitut\w+"
    r"|intercourse|genital\w*)\b"
    r"|\b\d{3,4}\s*-\s*\d{2,4}\b|\(born\b|\bborn in\b|\d (BC|AD)\b",
    re.IGNORECASE,
)
ENOUGH = 28
PLAIN = 17
DRAW = 2.5
TEST_SHARE = 0.15

Document = dict[str, Any]


def read(folder: Path) -> tuple[dict[str, str], dict[str, list[str]], list[Document]]:
    """Give the names, the parents and the documents of a folder."""
    names: dict[str, str] = {}
    parents: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "taxonomy.tsv").read_text(encoding="utf-8").splitlines():
        parent, child, name = line.split("\t")
        if child in SAME:
            continue
        names[child] = name
        parent = SAME.get(parent, parent)
        if parent and parent not in parents[child]:
            parents[child].append(parent)
    documents: list[Document] = []
    for part in ("train", "test"):
        with lzma.open(folder / f"{part}.jsonl.xz", "rt", encoding="utf-8") as lines:
            documents += map(json.loads, lines)
    for document in documents:
        document["labels"] = [SAME.get(label, label) for label in document["labels"]]
    return names, dict(parents), sorted(documents, key=lambda d: str(d["id"]))


def ancestors(parents: dict[str, list[str]], nodes: set[str]) -> dict[str, set[str]]:
    """Give each node with everything above it, itself included."""
    found: dict[str, set[str]] = {}

    def up(v: str) -> set[str]:
        if v not in found:
            found[v] = {v}.union(*(up(p) for p in parents.get(v, [])))
        return found[v]

    return {v: up(v) for v in nodes}


def chosen_glosses(documents: list[Document], inside: set[str]) -> list[Document]:
    """Rule 1 and 2: the documents that are used, with their labels inside the fields."""
    out, seen = [], set()
    for document in documents:
        labels = [label for label in dict.fromkeys(document["labels"]) if label in inside]
        text = str(document["text"])
        if labels and text not in seen and len(text.split()) >= 3 and not LEFT_OUT.search(text):
            seen.add(text)
            out.append({"id": document["id"], "text": text, "labels": labels})
    return out


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w'-]+", text.lower()))


def choose_categories(
    names: dict[str, str],
    parents: dict[str, list[str]],
    up: dict[str, set[str]],
    documents: list[Document],
    spread: Counter[str],
) -> dict[str, set[str]]:
    """Rule 3: the categories that stay, with the ids of the glosses that each gathers."""
    gathered: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        for label in document["labels"]:
            gathered[label].add(document["id"])
    own = {v: len(ids) for v, ids in gathered.items()}
    first: dict[str, str] = {}  # of one name, the node with the most glosses of its own
    for v in sorted(up, key=lambda v: (-own.get(v, 0), v)):
        first.setdefault(names[v], v)
    stay: dict[str, set[str]] = {}
    for v in sorted(up, key=lambda v: (-len(up[v]), v)):  # a node has more above it than its parents: they come later
        plain = all(spread[word] >= PLAIN for word in words(names[v]))
        if len(gathered[v]) >= ENOUGH and plain and first[names[v]] == v and names[v] not in VAGUE:
            stay[v] = gathered[v]
        else:
            for parent in parents.get(v, []):
                if parent in up:
                    gathered[parent] |= gathered[v]
    return stay


def order_of(key: str) -> bytes:
    """Give a place in an order that is random but the same everywhere."""
    return hashlib.blake2b(key.encode(), digest_size=8).digest()


def nearest(v: str, among: set[str], up: dict[str, set[str]]) -> list[str]:
    """Give the nodes of `among` above v that have no other one of them below."""
    above = (up[v] & among) - {v}
    return sorted(p for p in above if not any(p in up[q] and p != q for q in above))


def draw(stay: dict[str, set[str]], up: dict[str, set[str]]) -> dict[str, list[str]]:
    """Rule 4: the drawn glosses with their labels; a label above another label of the gloss is dropped."""
    labels: dict[str, set[str]] = defaultdict(set)
    for v, ids in stay.items():
        for document in ids:
            labels[document].add(v)
    for found in labels.values():
        found -= {v for v in found if any(v in up[w] and v != w for w in found)}
    drawn: set[str] = set()
    for v in sorted(stay):
        mine = sorted((d for d in stay[v] if v in labels[d]), key=order_of)
        drawn.update(mine[: round(DRAW * math.sqrt(len(mine)))])
    return {d: sorted(labels[d]) for d in sorted(drawn)}


def split(labels: dict[str, list[str]]) -> set[str]:
    """Rule 6: the ids of the glosses for testing, rare categories first."""
    members: dict[str, list[str]] = defaultdict(list)
    for document, mine in labels.items():
        for label in mine:
            members[label].append(document)
    test: set[str] = set()
    for v in sorted(members, key=lambda v: (len(members[v]), v)):
        wanted = max(1, round(TEST_SHARE * len(members[v])))
        have = sum(d in test for d in members[v])
        rest = sorted((d for d in members[v] if d not in test), key=lambda d: order_of("split " + d))
        test.update(rest[: max(0, wanted - have)])
    return test


def main(source: Path, target: Path) -> None:
    names, parents, documents = read(source)
    up = ancestors(parents, set(names))
    up_inside = {v: up[v] for v in names if up[v] & set(FIELDS) and not up[v] & set(OUTSIDE)}
    spread = Counter(word for document in documents for word in words(document["text"]))
    documents = chosen_glosses(documents, set(up_inside))
    stay = choose_categories(names, parents, up_inside, documents, spread)
    labels = draw(stay, up)
    test = split(labels)
    nodes = set(stay) | set(TOP)
    target.mkdir(parents=True, exist_ok=True)
    with lzma.open(target / "taxonomy.tsv.xz", "wt", encoding="utf-8", newline="\n", preset=9) as out:
        for v in sorted(nodes, key=lambda v: (len(up[v]), v)):
            for parent in nearest(v, nodes, up) or [""]:
                out.write(f"{parent}\t{v}\t{names[v]}\n")
    texts = {d["id"]: d["text"] for d in documents}
    for part in ("train", "test"):
        with lzma.open(target / f"{part}.jsonl.xz", "wt", encoding="utf-8", newline="\n", preset=9) as out:
            for document in sorted(labels, key=order_of):
                if (document in test) == (part == "test"):
                    line = {"id": document, "text": texts[document], "labels": labels[document]}
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{len(nodes)} nodes, {len(labels) - len(test)} + {len(test)} glosses in {target}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(str(__doc__).split("\n\n")[1].strip())
    package = Path(__file__).resolve().parents[1] / "src" / "pinakes" / "datasets" / "data"
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else package)
