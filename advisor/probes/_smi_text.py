"""The text of ``nvidia-smi -q`` as the elements that ``nvidia-smi -q -x`` would have written for the same GPUs.

Most labels become the names of elements by themselves ("FB Memory Usage" is ``fb_memory_usage``); those that do not
stand in a table. Levels are told by indentation.
"""

import re
from collections.abc import Iterator, Mapping

from advisor.probes._xml import DEEPEST, MOST_ELEMENTS, Element, NotReadable

HEADING = "NVSMI LOG"
_LINE = re.compile(r"( *)([^:]*[^: ]) *(?:: ?(.*))?")
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", re.ASCII)
_CLOCKS = {"graphics": "graphics_clock", "sm": "sm_clock", "memory": "mem_clock"}
_NAMES: Mapping[str, Mapping[str, str]] = {
    "gpu": {"serial_number": "serial", "gpu_uuid": "uuid"},
    "mig_mode": {"current": "current_mig", "pending": "pending_mig"},
    "ecc_mode": {"current": "current_ecc", "pending": "pending_ecc"},
    "pci": {"bus_id": "pci_bus_id", "gpu_link_info": "pci_gpu_link_info", "replays_since_reset": "replay_counter"},
    "pci_gpu_link_info": {"pcie_generation": "pcie_gen", "link_width": "link_widths"},
    "pcie_gen": {"max": "max_link_gen", "current": "current_link_gen", "device_max": "max_device_link_gen"},
    "link_widths": {"max": "max_link_width", "current": "current_link_width"},
    "utilization": {"gpu": "gpu_util"},
    "volatile": {"sram_uncorrectable_sec_ded": "sram_uncorrectable_secded"},
    "retired_pages": {"pending_page_blacklist": "pending_retirement"},
    "remapped_rows": {
        "correctable_error": "remapped_row_corr",
        "uncorrectable_error": "remapped_row_unc",
        "pending": "remapped_row_pending",
        "remapping_failure_occurred": "remapped_row_failure",
    },
    "temperature": {
        "gpu_current_temp": "gpu_temp",
        "gpu_shutdown_temp": "gpu_temp_max_threshold",
        "gpu_slowdown_temp": "gpu_temp_slow_threshold",
        "memory_current_temp": "memory_temp",
    },
    "fabric": {"cliqueid": "cliqueId", "clusteruuid": "clusterUuid"},
    "clocks": _CLOCKS,
    "applications_clocks": _CLOCKS,
    "default_applications_clocks": _CLOCKS,
    "max_clocks": _CLOCKS,
    "processes": {"process_id": "process_info"},
}
"""By the element around: labels that the other form names differently."""
_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons")
_REASON_NAMES = {"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}


def parse_smi_text(text: str) -> Element:
    """The root element of what was printed. Raises NotReadable.

    Sample::

        ==============NVSMI LOG==============
        Driver Version                            : 535.161.08
        Attached GPUs                             : 1
        GPU 00000000:19:00.0
            MIG Mode
                Current                           : Disabled
    """
    if text.count(HEADING) > 1:
        raise NotReadable("holds more than one output of nvidia-smi -q: give one, made without -l, of one host")
    root = Element("nvidia_smi_log")
    open_: list[tuple[int, Element]] = [(-1, root)]
    for number, (depth, label, value) in enumerate(_lines(text.partition(HEADING)[2])):
        if number > MOST_ELEMENTS:
            raise NotReadable(f"has more than {MOST_ELEMENTS} lines, which no such file has")
        while open_[-1][0] >= depth:
            open_.pop()
        if len(open_) > DEEPEST:
            raise NotReadable(f"nests lines more than {DEEPEST} deep, which no such file does")
        around = open_[-1][1]
        if around is root and (gpu := _GPU.fullmatch(label)):
            element = Element("gpu", {"id": gpu[1]})
        else:
            element = Element(_tag(label, around.tag), text=value)
        around.children.append(element)
        open_.append((depth, element))
    for gpu_element in root.all("gpu"):
        _as_written_in_xml(gpu_element)
    return root


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Indentation, label and value of each line that has a label; a heading has no value, a GPU's has its address."""
    for line in text.split("\n"):
        found = _LINE.fullmatch(line.rstrip())
        if _GPU.fullmatch(line.rstrip()):
            yield 0, line.rstrip(), ""
        elif found and not found[2].startswith("="):
            yield len(found[1]), found[2], found[3] or ""


def _tag(label: str, around: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    return _NAMES.get(around, {}).get(plain, plain)


def _as_written_in_xml(gpu: Element) -> None:
    """Parts of hardware slowdown stand beside it there, and a process has its number inside."""
    for reasons in (child for child in gpu.children if child.tag in _REASONS):
        flat = [part for reason in reasons.children for part in (reason, *reason.children)]
        reasons.children = [Element(_REASON_NAMES.get(part.tag, part.tag), text=part.text) for part in flat]
    for processes in gpu.all("processes"):
        for process in processes.all("process_info"):
            process.children.insert(0, Element("pid", text=process.text))
