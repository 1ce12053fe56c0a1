# ruff: noqa: E501
"""A node with a secret planted in every kind of file that a capture brings: each <> stands for one of its own."""

import re
from collections.abc import Iterator, Mapping
from itertools import count

_TEXTS: Mapping[str, str] = {
    "/proc/cmdline": "ro root=LABEL=<> quiet iscsi_initiator=<> rd.luks.uuid=luks-<> rd.luks.key=/<> rd.luks.name=1=<>"
    " rd.lvm.lv=<>/root resume=/dev/mapper/<> ip=10.1.2.3::10.1.2.1:255.255.255.0:<>:eth0:none nfsroot=<>:/x,vers=4"
    " netroot=iscsi:<>:<>@10.1.1.1::3260::iqn.2001-05.com.example:<> inst.ks=http://<>/ks.cfg password=<> api_key=<>"
    " ds=nocloud-net;s=http://<>/ cloud-config-url=http://u:<>@x/ systemd.setenv=TOKEN=<> vault.pw=<> pxe_server=<>"
    " systemd.set_credential=a:<> BOOTIF=01-0c-42-a1-5e-77-31 ifname=eth0:0c:42:a1:5e:77:31 coreos.inst.url=http://<>/"
    " rd.iscsi.in.password=<> isolcpus=2-3 nvme.poll_queues=4 iommu=pt hugepages=8\n",
    "/etc/fstab": "# the password is <>\n"
    "//<>/share /mnt/a cifs username=<>,password=<>,dom=<>,credentials=/root/<>,vers=3.0 0 0\n"
    "<>:/export /mnt/b nfs4 nconnect=8 0 0\n<>.corp.example:/export /mnt/b2 nfs4 sec=krb5 0 0\n"
    "10.3.4.5,10.3.4.6:/vol /mnt/c ceph name=<>,secret=<>,mon_addr=10.3.4.5:3300,fsid=<> 0 0\n"
    "<>@tcp:<>@tcp:/fs1 /mnt/d lustre flock 0 0\n<>:/gv0 /mnt/e glusterfs backup-volfile-servers=<>:<> 0 0\n"
    "s3fs#<>:/ /mnt/f fuse passwd_file=/etc/<>,url=https://<>:9000 0 0\n<>@<>:/x /mnt/g fuse.sshfs IdentityFile=<> 0 0\n"
    "LABEL=<> /mnt/h ext4 defaults 0 0\nPARTLABEL=<> /mnt/i ext4 defaults 0 0\nUUID=AB12-CD34 /boot/efi vfat ro 0 0\n"
    "/dev/disk/by-id/nvme-SAMSUNG_<> /mnt/j xfs noatime 0 0\n<>/fs /mnt/w wekafs token=<> 0 0\n"
    "juicefs:redis://<>@<>:6379/1 /mnt/k juicefs _netdev 0 0\n",
    "/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 22 0:20 / /sys rw - sysfs sysfs rw\n"
    "20 22 0:19 / /proc rw - proc proc rw\n40 22 0:40 / /data rw - nfs4 <>:/export rw,addr=10.0.0.9\n"
    "41 22 0:41 / /home/<> rw - fuse.sshfs <>@<>:/ rw,user_id=0\n42 22 0:42 / /x rw - cifs //<>/x rw,username=<>\n"
    "43 22 0:43 / /y rw - ext4 /dev/disk/by-id/scsi-<> rw\n44 22 0:44 / /z rw - wekafs <>/fs rw\n",
    "/proc/self/mountstats": "device <>:/export mounted on /data with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,addr=10.0.0.9,clientaddr=10.3.4.5\n",
    "/etc/environment": "WANDB_API_KEY=<>\nHF_TOKEN=<>\nPGPASSWORD=<>\nNCCL_COMM_ID=<>:1234\nhttp_proxy=http://<>:<>@proxy:1\n"
    "NCCL_DEBUG=INFO\nno_proxy=<>\nUCX_TLS=rc\nUCX_IB_PKEY=0xffff\nNCCL_HOSTID=<>\n",
    "/etc/profile.d/site.sh": "export WANDB_API_KEY=<> # <>\nexport NCCL_IB_HCA=mlx5_0 # <>\nalias x='ssh <>'\n"
    "curl -H 'Authorization: Bearer <>' https://x\nmysql -p<>\nexport CUDA_PATH=/home/<>/cuda\n: <>\n# <>\n"
    'if [ -e /<> ]; then\n  export NCCL_DEBUG="WARN"\nfi\n',
    "/etc/nccl.conf": "NCCL_DEBUG=WARN\nNCCL_COMM_ID=<>:9999\n# <>\nNCCL_HOSTID=<>\nNCCL_X_TOKEN=<>\nwhatever <>\n"
    "export NCCL_IB_HCA='mlx5_0' # <>\n NCCL_IB_PKEY = 3\n<> <> = <>\nNCCL_DEBUG_FILE=/home/<>/log.%h\n",
    "/root/.nccl.conf": "NCCL_COMM_ID=<>:9999\nNCCL_ALGO=Ring\n",
    "/etc/security/limits.conf": "<> soft memlock unlimited\n@<> - nofile 100000\n* soft memlock unlimited\n# <>\n"
    "root - nproc unlimited # <>\n<> -\n1000: hard stack 100\n<> soft stack <>\n",
    "/etc/pam.d/sshd": "auth required pam_ldap.so bindpw=<>\nsession required pam_limits.so secret=<>\n# <>\n"
    "@include common-auth\nauth optional pam_exec.so /bin/x --token <>\n",
    "/etc/systemd/system/slurmd.service": "[Unit]\nDescription=<>\n[Service]\nExecStart=/usr/sbin/slurmd --token <>\n"
    "Environment=X=<> \\\n  # <>\n  LimitNOFILE=<>\nLimitMEMLOCK=infinity\nUser=<>\nSetCredential=foo:<>\n",
    "/etc/systemd/system/kubelet.service.d/10-k.conf": '[Service]\nEnvironment="A=--bootstrap-token=<> --node-ip=10.3.4.5"\n'
    "CPUAffinity=0-3 \\\n 8\nExecStart=\nExecStart=/usr/bin/kubelet --token=<>\n",
    "/etc/systemd/system/nvidia-persistenced.service": "[Service]\n"
    "ExecStart=/usr/bin/nvidia-persistenced --user <> --no-persistence-mode --verbose\n",
    "/etc/systemd/system/data.mount": "[Unit]\nDescription=<>\n[Mount]\nWhat=//<>/share\nWhere=/data\nType=cifs\n"
    "Options=username=<>,password=<>,vers=3.0\n",
    "/etc/systemd/system/far.mount": "[Mount]\nWhat=<>:/share\nWhere=/far\nType=nfs4\nOptions=nconnect=8\n",
    "/etc/systemd/system.conf": '[Manager]\nDefaultEnvironment="SECRET=<>" X=<>\nDefaultLimitMEMLOCK=infinity\n',
    "/etc/udev/rules.d/70-x.rules": 'ATTR{address}=="0c:42:a1:5e:77:31", ATTR{mtu}="9000", NAME="<>"\n'
    'ENV{ID_SERIAL}=="<>", ATTR{queue/scheduler}="none"\nATTRS{serial}=="<>", ATTR{queue/read_ahead_kb}="128"\n'
    'ACTION=="add", RUN+="/usr/local/bin/notify --token <>"\nKERNEL=="nvme*", ATTRS{wwid}=="eui.<>", SYMLINK+="disk/<>"\n'
    'ENV{ID_FS_LABEL}=="<>", RUN+="/sbin/blockdev --setra 4096 /dev/disk/by-label/<>"\n# <>\n'
    'SUBSYSTEM=="net", RUN+="/sbin/ethtool -G %k rx 4096", \\\n  ENV{KEY}="<>"\nthis is no rule <>\n',
    "/etc/tuned/active_profile": "site\n",
    "/etc/tuned/site/tuned.conf": "[main]\nsummary=For <>\ninclude=throughput-performance\n[variables]\npw=<>\n[sysctl]\n"
    "vm.swappiness=1 # <>\nkernel.hostname=<>\n[bootloader]\ncmdline_x=isolcpus=2-3 api_key=<>\n[script]\nscript=/<>.sh\n"
    "[fast]\ntype=disk\nreadahead=4096\n",
    "/etc/tuned/tuned-main.conf": "reapply_sysctl=0\nlog_server=<>\n",
    "/etc/sysctl.d/10-x.conf": "# <>\nvm.swappiness = 1\nkernel.hostname = <>\nkernel.domainname=<>\nvm.dirty_ratio = 3 ; <>\n"
    "net.ipv6.conf.all.stable_secret = <>\n",
    "/etc/modprobe.d/x.conf": "options nvme poll_queues=4\noptions lnet ip2nets=10.3.4.5\noptions ibmod key=<> secret=<>\n"
    "install foo /sbin/modprobe foo; curl http://<>/?t=<> \\\n  -u <>\n# <>\noptions nfs nfs4_unique_id=<>\n",
    "/etc/default/irqbalance": 'IRQBALANCE_ARGS="--deepestcache=2"\nSECRET=<>\n',
}


def _numbered(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    numbers = count(1)
    for path, text in texts.items():
        yield path, re.sub("<>", lambda _: f"PLANTED{next(numbers):03}Q", text)


FILES = dict(_numbered(_TEXTS))
SECRETS = {
    **{secret: path for path, text in FILES.items() for secret in re.findall(r"PLANTED\d+Q", text)},
    **dict.fromkeys(("0c:42:a1:5e:77:31", "0c-42-a1-5e-77-31"), "hardware address"),
    **dict.fromkeys(("10.3.4.5", "10.0.0.9", "10.1.2.3", "AB12-CD34"), "address"),
}
"""Each with where it lies."""
