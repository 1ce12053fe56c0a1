"""Given files changed at random: one sentence says what is wrong, or nothing is told that the text does not say."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.probes._given import KINDS, NCCL_TOPO, SMI_XML, TOPO_M
from advisor.probes._nccl_xml import parse_nccl_topo
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._topo_matrix import Matrix, parse_topo
from advisor.probes._xml import NotReadable
from advisor.probes.given_topology import from_matrix, from_nccl
from tests.given_files import SMI_GPU, nccl_topo, smi_gpu, smi_xml
from tests.given_files import TOPO_M as MATRIX

TEXTS = {SMI_XML: smi_xml(SMI_GPU, smi_gpu("5E")), TOPO_M: MATRIX, NCCL_TOPO: nccl_topo()}
ODD = [
    "",
    "\0",
    "\x1b[4m",
    "N/A",
    "[N/A]",
    "-1",
    "9" * 400,
    "é",
    "\t",
    "\n",
    "X",
    "NV18",
    "SYS",
    "<",
    "&",
    "&a;",
    '"',
    "GPU0",
]


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """``text`` with some pieces taken out, doubled, exchanged, or replaced by something odd."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.one_of(st.integers(0, 8), st.integers(0, 400))))
        piece = draw(st.one_of(st.sampled_from(ODD), st.text(max_size=6), st.just(text[start:end] * 2)))
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def swapped_lines(draw: st.DrawFn, text: str) -> str:
    """``text`` with lines left out, doubled and in another order."""
    lines = text.split("\n")
    places = draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=2 * len(lines)))
    return "\n".join(lines[place] for place in places)


def variants(kind: str) -> st.SearchStrategy[str]:
    return st.one_of(changed(TEXTS[kind]), swapped_lines(TEXTS[kind]), st.text(max_size=200))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_nothing_but_the_one_sentence_is_ever_raised(kind: str, data: st.DataObject) -> None:
    text = data.draw(variants(kind))
    said = ""
    try:
        KINDS[kind].parse(text)
    except NotReadable as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 200


@given(text=variants(SMI_XML))
@settings(max_examples=150, deadline=None)
def test_every_number_of_a_gpu_stands_in_the_text(text: str) -> None:
    try:
        gpus = parse_smi_xml(text)["gpus"]
    except NotReadable:
        return
    assert isinstance(gpus, list)
    for gpu in gpus:
        if gpu["name"] is not None:
            assert "".join(gpu["name"].split()) in "".join(c for c in text if c.isprintable() and not c.isspace())
        if gpu["memory_total_bytes"] is not None:
            mib = gpu["memory_total_bytes"] / (1 << 20)
            told = re.findall(r"<total>\s*([0-9.]+)\s*MiB\s*</total>", text)
            assert any(abs(float(one) - mib) < 1 for one in told)
        if gpu["pcie_width"] is not None:
            assert re.search(rf">\s*0*{gpu['pcie_width']}(\.0+)?\s*x", text)
        if gpu["compute_processes"]:
            assert all(re.search(rf">\s*0*{pid}\s*<", text) for pid in gpu["compute_processes"])


@given(text=variants(TOPO_M))
@settings(max_examples=150, deadline=None)
def test_every_relation_stands_in_a_row_of_one_of_the_two(text: str) -> None:
    try:
        matrix = parse_topo(text)
    except NotReadable:
        return
    from_matrix(matrix)
    assert all(_stands(matrix, text, *pair, relation) for pair, relation in matrix.relations.items())


def _stands(matrix: Matrix, text: str, a: str, b: str, relation: str) -> bool:
    rows = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).split() for line in text.lstrip("\ufeff").split("\n")]
    found = [row for row in rows if row and row[0] in (a, b)]
    place = {a: matrix.devices.index(b) + 1, b: matrix.devices.index(a) + 1}
    cells = {row[place[row[0]]] for row in found if len(row) > place[row[0]]}
    return relation in {"SYS" if cell == "SOC" else cell for cell in cells}


@given(text=variants(NCCL_TOPO))
@settings(max_examples=150, deadline=None)
def test_every_device_of_nccl_stands_in_the_text(text: str) -> None:
    try:
        devices = parse_nccl_topo(text)
    except NotReadable:
        return
    from_nccl(devices)
    for device in devices:
        assert device.address.lstrip("0").lower() in text.lower()
        assert all(str(count) in text for count in device.links.values() if device.links)
        assert all(net.name in text for net in device.nets)
        if device.numa_node is not None:
            assert re.search(rf'numaid\s*=\s*["\']0*{device.numa_node}["\']', text)
