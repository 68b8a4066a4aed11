"""Maps: what is drawn where, and in which colour."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
from scipy import sparse

from pinakes import Taxonomy
from pinakes.errors import LabelError, ParameterError
from pinakes.plots import make_map, write_page, write_picture
from pinakes.plots.map import COLOURS, GREY, MOST_BRANCHES

TREE = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])


def draw(n=80, seed=0):
    rng = np.random.default_rng(seed)
    leaves = ["a/b", "a/c", "d/e", "d/f"]
    labels = [[leaves[i % 4]] for i in range(n)]
    X = rng.poisson(0.4, (n, 30)).astype(float)
    for i in range(n):
        X[i, 4 * (i % 4) : 4 * (i % 4) + 4] += rng.poisson(1.5, 4)
        X[i, 20 + (i % 4) // 2] += 2
    return sparse.csr_array(X), labels, [f"document {i}" for i in range(n)]


def test_branches_are_apart_under_hlsi_and_centroids_are_means():
    X, labels, titles = draw()
    chart = make_map(X, labels, TREE, titles, gamma=1.0)
    assert [view.name for view in chart.views] == ["HLSI", "LSI"]
    assert [branch.name for branch in chart.branches] == ["a", "d"]
    Z = chart.views[0].points
    assert Z.shape == (80, 2)
    assert np.abs(Z).max() <= 1
    middle = np.array([Z[chart.branch_of == b].mean(axis=0) for b in (0, 1)])
    nearest = np.linalg.norm(Z[:, None] - middle, axis=2).argmin(axis=1)
    assert (nearest == chart.branch_of).mean() > 0.9
    for k, (name, path, branch, n) in enumerate(chart.categories):
        mine = chart.category_of == k
        assert mine.sum() == n == 20
        assert path == f"{chart.branches[branch].name} > {name}"
        np.testing.assert_allclose(chart.views[0].centroids[k], Z[mine].mean(axis=0), atol=1e-5)


def test_a_branch_alone_and_closed_label_sets():
    X, labels, titles = draw()
    labels = [
        ["a", *each] if each[0].startswith("a") else each for each in labels
    ]  # ancestors do not stand for a document
    chart = make_map(X, labels, TREE, titles, methods=["lsi"], branch="a", gamma=1.0)
    assert len(chart.titles) == 40
    assert {branch.name for branch in chart.branches} == {"b", "c"}
    assert chart.titles[:3] == ["document 0", "document 1", "document 4"]
    assert (chart.more == 1).all()
    with pytest.raises(LabelError, match="--branch 'aa' is not in the taxonomy of 6 nodes"):
        make_map(X, labels, TREE, titles, branch="aa")
    with pytest.raises(ParameterError, match="`methods` of make_map must be of hlsi, lsi, got 'pca'"):
        make_map(X, labels, TREE, titles, methods=["pca"])
    with pytest.raises(ParameterError, match="--branch 'd' must hold two documents or more, got 0"):
        make_map(X[::4], labels[::4], TREE, titles[::4], branch="d")


def test_single_root_is_passed_and_small_branches_are_grey():
    flat = Taxonomy.from_edges([("", "top"), *(("top", f"k{k:02}") for k in range(20))])
    labels = [[f"k{k:02}"] for k in range(20) for _ in range(40 - k)] + [["top"]]
    X = sparse.random_array((len(labels), 50), density=0.2, rng=np.random.default_rng(0), format="csr")
    chart = make_map(X, labels, flat, [""] * len(labels), methods=["hlsi"])
    assert [branch.name for branch in chart.branches] == [*(f"k{k:02}" for k in range(MOST_BRANCHES)), "other"]
    assert chart.branches[-1].colour == GREY
    assert chart.branch_of[-1] == MOST_BRANCHES
    assert len(set(COLOURS)) == MOST_BRANCHES


def test_documents_in_one_dimension_and_far_ones_are_drawn():
    X = sparse.csr_array(np.array([[1.0], [2.0], [3.0], [900.0]]))
    chart = make_map(X, [["a/b"], ["a/c"], ["d/e"], ["a/b"]], TREE, list("wxyz"))
    for view in chart.views:
        assert np.isfinite(view.points).all()
        assert np.abs(view.points).max() <= 1


def test_page_holds_everything_and_nothing_breaks_out(tmp_path):
    X, labels, titles = draw()
    titles[0] = "</script><script>alert(1)</script> /*DATA*/ \u2028 ü " + "x" * 500
    chart = make_map(X, labels, TREE, titles, title="A <b>map</b> & /*SCRIPT*/")
    write_page(chart, tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert "<title>A &lt;b&gt;map&lt;/b&gt; &amp; /*SCRIPT*/</title>" in text
    assert not re.search(r"""(?:src|href)\s*=|https?://|@import|url\(""", text)  # nothing from elsewhere
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL).group(1))
    assert data["titles"][0].startswith("</script><script>alert(1)")
    assert len(data["titles"][0]) == 140
    assert [branch["n"] for branch in data["branches"]] == [40, 40]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_written(tmp_path, ending):
    pytest.importorskip("matplotlib")
    X, labels, titles = draw()
    chart = make_map(X, labels, TREE, titles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        write_picture(chart, tmp_path / f"map.{ending}")
    data = (tmp_path / f"map.{ending}").read_bytes()
    assert data.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])
    if ending == "svg":
        text = data.decode()
        assert all(name in text for name in (">b<", ">f<", "HLSI", "LSI"))
        assert all(branch.colour.lower() in text for branch in chart.branches)


def test_picture_has_the_colours_at_the_places(tmp_path):
    """Read the pixels: around each centroid of a branch its own colour is the most frequent one."""
    pytest.importorskip("matplotlib")
    import matplotlib.colors
    import matplotlib.image

    X, labels, titles = draw(400)
    chart = make_map(X, labels, TREE, titles, methods=["hlsi"], gamma=1.0)
    write_picture(chart, tmp_path / "map.png")
    image = matplotlib.image.imread(tmp_path / "map.png")[..., :3]
    for branch in chart.branches:
        colour = matplotlib.colors.to_rgb(branch.colour)
        mixed = 1 - 0.55 * (1 - np.array(colour))  # on white, at the opacity of a point
        near = np.abs(image - mixed).max(axis=2) < 0.03
        assert near.sum() > 200
