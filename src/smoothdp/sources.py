"""Where things come from: a citation key and a place in it, and the bibliography."""

from __future__ import annotations

from dataclasses import dataclass

from smoothdp.errors import InvalidParameter

_BIBLIOGRAPHY = {
    "liu-wang-xia": (
        "article",
        "Smoothed Differential Privacy",
        "Ao Liu and Yu-Xiang Wang and Lirong Xia",
        "Transactions on Machine Learning Research",
        "2023",
    ),
    "bun-steinke-averages": (
        "inproceedings",
        "Average-Case Averages: Private Algorithms for Smooth Sensitivity and Mean Estimation",
        "Mark Bun and Thomas Steinke",
        "Advances in Neural Information Processing Systems",
        "2019",
    ),
    "balcer-cheu": (
        "inproceedings",
        "Separating Local & Shuffled Differential Privacy via Histograms",
        "Victor Balcer and Albert Cheu",
        "Information-Theoretic Cryptography",
        "2020",
    ),
    "chen-long": (
        "misc",
        "Distributed Gaussian Differential Privacy via Shuffling",
        "Kan Chen and Qi Long",
        "workshop paper",
        "2021",
    ),
    "hladik-tetek": (
        "article",
        "Smooth Sensitivity Revisited: Towards Optimality",
        "Richard Hladík and Jakub Tětek",
        "preprint",
        "2024",
    ),
    "bun-steinke-zcdp": (
        "inproceedings",
        "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
        "Mark Bun and Thomas Steinke",
        "Theory of Cryptography",
        "2016",
    ),
    "desfontaines-keys": (
        "article",
        "Differentially Private Partition Selection",
        "Damien Desfontaines and James Voss and Bryant Gipson and Chinmoy Mandayam",
        "Proceedings on Privacy Enhancing Technologies",
        "2022",
    ),
    "dong-roth-su": (
        "article",
        "Gaussian Differential Privacy",
        "Jinshuo Dong and Aaron Roth and Weijie J. Su",
        "Journal of the Royal Statistical Society B",
        "2022",
    ),
    "balle-wang": (
        "inproceedings",
        "Improving the Gaussian Mechanism for Differential Privacy: "
        "Analytical Calibration and Optimal Denoising",
        "Borja Balle and Yu-Xiang Wang",
        "International Conference on Machine Learning",
        "2018",
    ),
    "balle-barthe-gaboardi": (
        "inproceedings",
        "Privacy Amplification by Subsampling: Tight Analyses via Couplings and Divergences",
        "Borja Balle and Gilles Barthe and Marco Gaboardi",
        "Advances in Neural Information Processing Systems",
        "2018",
    ),
    "liu-talwar": (
        "inproceedings",
        "Private Selection from Private Candidates",
        "Jingcheng Liu and Kunal Talwar",
        "Symposium on Theory of Computing",
        "2019",
    ),
    "papernot-steinke": (
        "inproceedings",
        "Hyperparameter Tuning with Rényi Differential Privacy",
        "Nicolas Papernot and Thomas Steinke",
        "International Conference on Learning Representations",
        "2022",
    ),
    "gillenwater-joseph-kulesza": (
        "inproceedings",
        "Differentially Private Quantiles",
        "Jennifer Gillenwater and Matthew Joseph and Alex Kulesza",
        "International Conference on Machine Learning",
        "2021",
    ),
    "canonne-kamath-steinke": (
        "inproceedings",
        "The Discrete Gaussian for Differential Privacy",
        "Clément Canonne and Gautam Kamath and Thomas Steinke",
        "Advances in Neural Information Processing Systems",
        "2020",
    ),
    "dwork-roth": (
        "article",
        "The Algorithmic Foundations of Differential Privacy",
        "Cynthia Dwork and Aaron Roth",
        "Foundations and Trends in Theoretical Computer Science",
        "2014",
    ),
    "kairouz-oh-viswanath": (
        "inproceedings",
        "The Composition Theorem for Differential Privacy",
        "Peter Kairouz and Sewoong Oh and Pramod Viswanath",
        "International Conference on Machine Learning",
        "2015",
    ),
    "bun-dwork-rothblum-steinke": (
        "inproceedings",
        "Composable and Versatile Privacy via Truncated CDP",
        "Mark Bun and Cynthia Dwork and Guy N. Rothblum and Thomas Steinke",
        "ACM Symposium on Theory of Computing",
        "2018",
    ),
    "zhu-dong-wang": (
        "inproceedings",
        "Optimal Accounting of Differential Privacy via Characteristic Function",
        "Yuqing Zhu and Jinshuo Dong and Yu-Xiang Wang",
        "Artificial Intelligence and Statistics",
        "2022",
    ),
    "rogers-roth-ullman-vadhan": (
        "inproceedings",
        "Privacy Odometers and Filters: Pay-as-you-Go Composition",
        "Ryan Rogers and Aaron Roth and Jonathan Ullman and Salil Vadhan",
        "Advances in Neural Information Processing Systems",
        "2016",
    ),
    "feldman-zrnic": (
        "inproceedings",
        "Individual Privacy Accounting via a Rényi Filter",
        "Vitaly Feldman and Tijana Zrnic",
        "Advances in Neural Information Processing Systems",
        "2021",
    ),
    "whitehouse-ramdas-rogers-wu": (
        "inproceedings",
        "Fully-Adaptive Composition in Differential Privacy",
        "Justin Whitehouse and Aaditya Ramdas and Ryan Rogers and Zhiwei Steven Wu",
        "International Conference on Machine Learning",
        "2023",
    ),
    "loader": (
        "misc",
        "Fast and Accurate Computation of Binomial Probabilities",
        "Catherine Loader",
        "technical report",
        "2000",
    ),
    "balle-split-and-mix": (
        "inproceedings",
        "Private Summation in the Multi-Message Shuffle Model",
        "Borja Balle and James Bell and Adrià Gascón and Kobbi Nissim",
        "ACM Conference on Computer and Communications Security",
        "2020",
    ),
    "own": (
        "misc",
        "What its author vouches for",
        "whoever wrote the code",
        "unpublished",
        "n.d.",
    ),
    "devroye": (
        "book",
        "Non-Uniform Random Variate Generation",
        "Luc Devroye",
        "Springer",
        "1986",
    ),
}

# What the material itself states of the five papers; what it does not state is left out.
_READ: dict[str, dict[str, str]] = {
    "liu-wang-xia": {
        "url": "https://openreview.net/forum?id=CviCLt44Em",
        "version": "the version reviewed on OpenReview",
    },
    "bun-steinke-averages": {
        "pages": "181--191",
        "url": "https://proceedings.neurips.cc/paper/2019/hash/"
        "3ef815416f775098fe977004015c6193-Abstract.html",
        "version": "the anonymous supplement (full version) of NeurIPS 2019 submission 85; "
        "its misprints may be corrected in print",
    },
    "balcer-cheu": {
        "version": "a web page as text, without its figures and most of its formulas, which "
        "are read from the words around them",
    },
    "hladik-tetek": {
        "eprint": "2407.05067",
        "version": "the proceedings version (editor Mark Bun) as text without fractions; it "
        "names arXiv:2407.05067 as the full version",
    },
    "chen-long": {
        "version": "the manuscript with its appendix, which names no venue",
    },
}


_OWN = "own"


@dataclass(frozen=True, slots=True)
class Source:
    """A place in a publication: ``key`` of the bibliography, ``where`` in it.

    A law, claim or protocol that is in no publication has the key "own", and says in ``where``
    what it rests on.
    """

    key: str
    where: str

    def __post_init__(self) -> None:
        if self.key not in _BIBLIOGRAPHY:
            raise InvalidParameter(
                expected="a key of the bibliography",
                got=f"{self.key!r}",
                remedy='Add it to sources.py, or give "own" for something unpublished',
            )

    @property
    def is_published(self) -> bool:
        """Whether there is a publication to cite."""
        return self.key != _OWN

    def __str__(self) -> str:
        _, title, authors, _, year = _BIBLIOGRAPHY[self.key]
        return f"{authors}, {title} ({year}), {self.where}"


def bibtex(key: str, *, with_url: bool = True) -> str:
    """Return the BibTeX entry of a key; without its address for pages that name no other host.

    >>> print(bibtex("liu-wang-xia").splitlines()[0])
    @article{liu-wang-xia,
    """
    kind, title, authors, venue, year = _BIBLIOGRAPHY[Source(key, "").key]
    field = {
        "article": "journal",
        "book": "publisher",
        "inproceedings": "booktitle",
        "misc": "howpublished",
    }[kind]
    fields = {"title": title, "author": authors, field: venue, "year": year}
    read = dict(_READ.get(key, {}))
    version = read.pop("version", "")
    if not with_url:
        read.pop("url", "")
    if "eprint" in read:
        read["archiveprefix"] = "arXiv"
    if version:
        read["annote"] = f"Version read: {version}"
    # An ampersand separates columns in TeX.
    lines = [
        f"  {name} = {{{text if name == 'url' else text.replace('&', chr(92) + '&')}}},"
        for name, text in (fields | read).items()
    ]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def reference(key: str) -> str:
    """Return a publication in one paragraph: authors, title, venue, year, where, version read.

    >>> reference("hladik-tetek").partition(",")[0]
    'Richard Hladík and Jakub Tětek'
    """
    _, title, authors, venue, year = _BIBLIOGRAPHY[Source(key, "").key]
    read = _READ.get(key, {})
    place = [f"pages {read['pages'].replace('--', '-')}"] if "pages" in read else []
    place += [f"arXiv:{read['eprint']}"] if "eprint" in read else []
    place += [f"<{read['url']}>"] if "url" in read else []
    sentence = ", ".join([authors, f"*{title}*", venue, year, *place]) + "."
    return f"{sentence} Version read: {read['version']}." if "version" in read else sentence
