"""Files about a machine as a user would give them: made up, in the form that the tools write."""

from collections.abc import Sequence

SMI_GPU = """\
	<gpu id="00000000:3B:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<display_mode>Requested functionality has been deprecated</display_mode>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>Disabled</current_mig>
			<pending_mig>Disabled</pending_mig>
		</mig_mode>
		<uuid>GPU-00000000-1111-2222-3333-444444444444</uuid>
		<pci>
			<pci_bus_id>00000000:3B:00.0</pci_bus_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>5</max_link_gen>
					<current_link_gen>4</current_link_gen>
					<max_device_link_gen>5</max_device_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>8x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<replay_counter>3</replay_counter>
		</pci>
		<performance_state>P0</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<used>512 MiB</used>
		</fb_memory_usage>
		<compute_mode>Exclusive_Process</compute_mode>
		<utilization>
			<gpu_util>97 %</gpu_util>
		</utilization>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Disabled</pending_ecc>
		</ecc_mode>
		<retired_pages>
			<pending_retirement>N/A</pending_retirement>
		</retired_pages>
		<remapped_rows>
			<remapped_row_corr>1</remapped_row_corr>
			<remapped_row_pending>Yes</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
		</remapped_rows>
		<temperature>
			<gpu_temp>61 C</gpu_temp>
		</temperature>
		<gpu_power_readings>
			<average_power_draw>612.25 W</average_power_draw>
			<current_power_limit>650.00 W</current_power_limit>
			<requested_power_limit>650.00 W</requested_power_limit>
			<default_power_limit>700.00 W</default_power_limit>
		</gpu_power_readings>
		<clocks>
			<sm_clock>1755 MHz</sm_clock>
		</clocks>
		<max_clocks>
			<sm_clock>1980 MHz</sm_clock>
		</max_clocks>
		<processes>
			<process_info>
				<pid>4711</pid>
				<type>C</type>
			</process_info>
			<process_info>
				<pid>99</pid>
				<type>G</type>
			</process_info>
		</processes>
	</gpu>
"""


def smi_xml(*gpus: str, attached: int | None = None) -> str:
    """What ``nvidia-smi -q -x`` writes about these GPUs (`SMI_GPU` and its like)."""
    count = len(gpus) if attached is None else attached
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        "\t<timestamp>Mon Jun  1 10:00:00 2026</timestamp>\n\t<driver_version>550.90.07</driver_version>\n"
        f"\t<cuda_version>12.4</cuda_version>\n\t<attached_gpus>{count}</attached_gpus>\n"
        f"{''.join(gpus)}</nvidia_smi_log>\n"
    )


def smi_gpu(bus: str) -> str:
    """`SMI_GPU` on another bus (two hex digits)."""
    return SMI_GPU.replace("3B:00.0", f"{bus}:00.0").replace("444444444444", f"4444444444{bus.lower()}")


TOPO_M = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tNODE\t48-95,144-191\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tNODE\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_4

"""


def nccl_topo(cpus: Sequence[str] = ()) -> str:
    """A topology file of NCCL with these ``cpu`` elements; by default one of a machine of two GPUs and two cards."""
    return f'<system version="1">{"".join(cpus or (NCCL_NEAR, NCCL_FAR))}</system>\n'


NCCL_NEAR = """
  <cpu numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0002:00:00.0" count="18" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="262144" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>"""
NCCL_FAR = """
  <cpu numaid="1" affinity="00000000,ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0002:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="0"/>
      </pci>
    </pci>
    <pci busid="0102:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="8"/>
  </cpu>"""
