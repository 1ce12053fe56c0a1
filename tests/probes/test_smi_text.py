"""The text of ``nvidia-smi -q`` says what its XML would; fields that both have beside those of the other tests."""

from pathlib import Path

import pytest

from advisor.probes import gpu
from advisor.probes._given import SMI_XML
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._xml import NotReadable
from tests.trees import write_capture

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
TEXT = """\

==============NVSMI LOG==============

Timestamp                                 : Wed Jul 31 11:22:39 2024
Driver Version                            : 570.86.15
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Brand                         : NVIDIA RTX
    Product Architecture                  : Ada Lovelace
    Persistence Mode                      : Enabled
    Addressing Mode                       : HMM
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    Serial Number                         : 1320000000000
    GPU UUID                              : GPU-00000000-1111-2222-3333-444444444444
    Minor Number                          : 7
    VBIOS Version                         : 96.00.74.00.0D
    GSP Firmware Version                  : 570.86.15
    GPU Virtualization Mode
        Virtualization Mode               : Pass-Through
    GPU Reset Status
        Reset Required                    : Yes
    GPU Recovery Action                   : Drain and Reset
    PCI
        Bus Id                            : 00000000:3B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 3
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
        Display Clock Setting             : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 512 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
    Compute Mode                          : Exclusive_Process
    Utilization
        Gpu                               : 97 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Disabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 4
            DRAM Correctable              : 2
            DRAM Uncorrectable            : 3
        Aggregate
            DRAM Correctable              : 900
    Retired Pages
        Pending Page Blacklist            : No
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 2
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 61 C
        GPU Shutdown Temp                 : 101 C
        GPU Slowdown Temp                 : 98 C
        Memory Current Temp               : 70 C
    GPU Power Readings
        Average Power Draw                : 612.25 W
        Current Power Limit               : 650.00 W
        Requested Power Limit             : 650.00 W
        Default Power Limit               : 700.00 W
        Min Power Limit                   : 200.00 W
        Max Power Limit                   : 700.00 W
    Clocks
        SM                                : 1755 MHz
        Memory                            : 2619 MHz
    Applications Clocks
        Graphics                          : 1900 MHz
        Memory                            : 2600 MHz
    Default Applications Clocks
        Graphics                          : 1980 MHz
        Memory                            : 2619 MHz
    Max Clocks
        Graphics                          : 1985 MHz
        SM                                : 1980 MHz
        Memory                            : 2700 MHz
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 2
        ClusterUUID                       : 0b1fd0ac-0000-4000-8000-000000000001
        Health
            Summary                       : Limited Capacity
            Bandwidth                     : Degraded
            Route Recovery in progress    : False
            Route Unhealthy               : True
            Access Timeout Recovery       : False
            Incorrect Configuration       : None
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : python
        Process ID                        : 99
            Type                          : G
"""
XML = """\
<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><driver_version>570.86.15</driver_version><cuda_version>12.8</cuda_version>
<attached_gpus>1</attached_gpus><gpu id="00000000:3B:00.0">
<product_name>NVIDIA H100 80GB HBM3</product_name><product_brand>NVIDIA RTX</product_brand>
<product_architecture>Ada Lovelace</product_architecture><persistence_mode>Enabled</persistence_mode>
<addressing_mode>HMM</addressing_mode>
<mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
<serial>1320000000000</serial><uuid>GPU-00000000-1111-2222-3333-444444444444</uuid><minor_number>7</minor_number>
<vbios_version>96.00.74.00.0D</vbios_version><gsp_firmware_version>570.86.15</gsp_firmware_version>
<gpu_virtualization_mode><virtualization_mode>Pass-Through</virtualization_mode></gpu_virtualization_mode>
<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>
<gpu_recovery_action>Drain and Reset</gpu_recovery_action>
<pci><pci_bus_id>00000000:3B:00.0</pci_bus_id><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>4</current_link_gen>
<max_device_link_gen>5</max_device_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
</pci_gpu_link_info><replay_counter>3</replay_counter></pci><performance_state>P0</performance_state>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
<clocks_event_reason_display_clocks_setting>Not Active</clocks_event_reason_display_clocks_setting>
</clocks_event_reasons>
<fb_memory_usage><total>81559 MiB</total><used>512 MiB</used></fb_memory_usage>
<bar1_memory_usage><total>131072 MiB</total><used>1 MiB</used></bar1_memory_usage>
<compute_mode>Exclusive_Process</compute_mode><utilization><gpu_util>97 %</gpu_util></utilization>
<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc></ecc_mode>
<ecc_errors><volatile><sram_correctable>1</sram_correctable>
<sram_uncorrectable_parity>0</sram_uncorrectable_parity><sram_uncorrectable_secded>4</sram_uncorrectable_secded>
<dram_correctable>2</dram_correctable><dram_uncorrectable>3</dram_uncorrectable></volatile>
<aggregate><dram_correctable>900</dram_correctable></aggregate></ecc_errors>
<retired_pages><pending_retirement>No</pending_retirement></retired_pages>
<remapped_rows><remapped_row_corr>1</remapped_row_corr><remapped_row_unc>2</remapped_row_unc>
<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
<temperature><gpu_temp>61 C</gpu_temp><gpu_temp_max_threshold>101 C</gpu_temp_max_threshold>
<gpu_temp_slow_threshold>98 C</gpu_temp_slow_threshold><memory_temp>70 C</memory_temp></temperature>
<gpu_power_readings><average_power_draw>612.25 W</average_power_draw>
<current_power_limit>650.00 W</current_power_limit><requested_power_limit>650.00 W</requested_power_limit>
<default_power_limit>700.00 W</default_power_limit><min_power_limit>200.00 W</min_power_limit>
<max_power_limit>700.00 W</max_power_limit></gpu_power_readings>
<clocks><sm_clock>1755 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></clocks>
<applications_clocks><graphics_clock>1900 MHz</graphics_clock><mem_clock>2600 MHz</mem_clock></applications_clocks>
<default_applications_clocks><graphics_clock>1980 MHz</graphics_clock><mem_clock>2619 MHz</mem_clock>
</default_applications_clocks>
<max_clocks><graphics_clock>1985 MHz</graphics_clock><sm_clock>1980 MHz</sm_clock><mem_clock>2700 MHz</mem_clock>
</max_clocks>
<fabric><state>Completed</state><status>Success</status><cliqueId>2</cliqueId>
<clusterUuid>0b1fd0ac-0000-4000-8000-000000000001</clusterUuid><health><summary>Limited Capacity</summary>
<bandwidth>Degraded</bandwidth><route_recovery_in_progress>False</route_recovery_in_progress>
<route_unhealthy>True</route_unhealthy><access_timeout_recovery>False</access_timeout_recovery>
<incorrect_configuration>None</incorrect_configuration></health></fabric>
<processes><process_info><pid>4711</pid><type>C</type></process_info><process_info><pid>99</pid><type>G</type>
</process_info></processes></gpu></nvidia_smi_log>
"""


def test_both_forms_say_the_same() -> None:
    assert parse_smi_xml(TEXT) == parse_smi_xml(XML)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brand", "nvidia rtx"),
        ("architecture", "ada"),
        ("serial", "1320000000000"),
        ("minor_number", 7),
        ("vbios_version", "96.00.74.00.0D"),
        ("gsp_firmware_version", "570.86.15"),
        ("virtualization", "passthrough"),
        ("addressing_mode", "hmm"),
        ("reset_required", True),
        ("recovery_action", "drain and reset"),
        ("bar1_total_bytes", 131072 << 20),
        ("power_min_limit_milliwatts", 200_000),
        ("power_max_limit_milliwatts", 700_000),
        ("graphics_max_clock_mhz", 1985),
        ("graphics_application_clock_mhz", 1900),
        ("graphics_default_application_clock_mhz", 1980),
        ("memory_application_clock_mhz", 2600),
        ("memory_default_application_clock_mhz", 2619),
        ("memory_max_clock_mhz", 2700),
        ("memory_temperature_celsius", 70),
        ("slowdown_temperature_celsius", 98),
        ("shutdown_temperature_celsius", 101),
        ("ecc_corrected_errors", 3),
        ("ecc_uncorrected_errors", 7),
        ("mig_pending_mode", True),
        ("throttle_reasons", 0x8C),
        ("fabric_state", "completed"),
        ("fabric_status", 0),
        ("fabric_clique", 2),
        ("fabric_cluster_uuid", "0b1fd0ac-0000-4000-8000-000000000001"),
        ("fabric_health", "limited capacity"),
        ("fabric_bandwidth_degraded", True),
        ("fabric_route_recovery", False),
        ("fabric_route_unhealthy", True),
        ("fabric_misconfiguration", "none"),
        ("compute_processes", [4711]),
        ("gaps", {}),
    ],
)
def test_a_line_is_what_nvml_would_answer(field: str, value: object) -> None:
    assert _first(TEXT)[field] == value


@pytest.mark.parametrize(
    ("old", "new", "field", "state"),
    [
        ("Ada Lovelace", "Nova", "architecture", "error"),
        ("NVIDIA RTX\n", "N/A\n", "brand", "unsupported"),
        ("1985 MHz", "0 MHz", "graphics_max_clock_mhz", "error"),
        (
            "DRAM Correctable              : 2",
            "DRAM Correctable              : N/A",
            "ecc_corrected_errors",
            "unsupported",
        ),
        ("Success", "Unknown Error", "fabric_status", "error"),
        (
            "0b1fd0ac-0000-4000-8000-000000000001",
            f"{0:08}-0000-0000-0000-{0:012}",
            "fabric_cluster_uuid",
            "error",
        ),
        ("Memory Current Temp               : 70 C", "", "memory_temperature_celsius", "not captured"),
    ],
)
def test_what_is_no_value_is_a_gap(old: str, new: str, field: str, state: str) -> None:
    assert old in TEXT
    gpu_told = _first(TEXT.replace(old, new, 1))
    assert gpu_told[field] is None
    assert gpu_told["gaps"][field] == state  # type: ignore[index]


def test_older_drivers_give_totals_of_errors() -> None:
    old = "<ecc_errors><volatile><single_bit><l1_cache>5</l1_cache><total>5</total></single_bit><double_bit>" \
        "<total>0</total></double_bit></volatile></ecc_errors>"  # fmt: skip
    xml = XML[: XML.index("<ecc_errors>")] + old + XML[XML.index("<retired_pages>") :]
    assert (_first(xml)["ecc_corrected_errors"], _first(xml)["ecc_uncorrected_errors"]) == (5, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT + TEXT, "more than one output"),
        (TEXT.replace("Attached GPUs                             : 1", "Attached GPUs : 8"), "holds 1 of 8 GPUs"),
        ("=NVSMI LOG=\n" + "".join(f"{' ' * n}a{n}\n" for n in range(80)), "nests lines more than 64 deep"),
        ("=NVSMI LOG=\n" + "a : 1\n" * 200_100, "more than 200000 lines"),
    ],
    ids=["two outputs", "one GPU of eight", "deep", "long"],
)
def test_another_text_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(NotReadable, match=said):
        parse_smi_xml(text)


def test_the_text_fills_in_a_host_without_nvml(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {})
    host.given = {SMI_XML: TEXT}
    (device,) = gpu.read(host).gpus or ()
    assert (device.pci_address, device.mig_mode, device.power_max_limit_watts) == ("0000:3b:00.0", False, 700.0)


@pytest.mark.shared
@pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
def test_a_node_of_eight_h100_with_one_held_back_by_its_power_brake(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {})
    host.given = {SMI_XML: (HOSTS / "gpud/nvidia-smi/nvidia-smi-query.535.161.08.out.0.valid").read_text()}
    gpus = gpu.read(host).gpus or ()
    assert len(gpus) == 8
    assert {one.fabric_state for one in gpus} == {"completed"}
    assert "hw_power_brake_slowdown" in (gpus[0].throttle_names or ())


def _first(text: str) -> dict[str, object]:
    gpus = parse_smi_xml(text)["gpus"]
    assert isinstance(gpus, list)
    found: dict[str, object] = gpus[0]
    return found
