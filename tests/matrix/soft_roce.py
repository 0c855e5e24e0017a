"""The environment of ranks of the real libnccl on Soft-RoCE devices, inside the virtual machine (tests/rdma_vm)."""
RAILS = 2
TOPOLOGY_NIC = ('<pci busid="0000:c{bus}:00.0" class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="" '
                'subsystem_device="" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net name="{device}" port="1" '
                'speed="100000" latency="0"/></nic></pci>')
TOPOLOGY = ('<system version="1"><cpu host_hash="0x1" numaid="0" affinity="00000000,00000003" arch="x86_64" '
            'vendor="AuthenticAMD" familyid="25" modelid="17"><pci busid="0000:c0:00.0" class="0x060400" vendor="0x1000" '
            'device="0xc030" subsystem_vendor="" subsystem_device="" link_speed="32.0 GT/s PCIe" link_width="16">'
            '<pci busid="0000:c1:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="" '
            'subsystem_device="" link_speed="32.0 GT/s PCIe" link_width="16"/>{nics}</pci></cpu></system>')


def environment(directory, ranks):
    """What NCCL needs on Soft-RoCE, rank n on the devices of host n: the GDAKI probe of 2.28 and later off (it crashes on
    other devices than mlx5), a topology file (rxe devices have no PCI path), the RoCE v2 GID."""
    env = dict(NCCL_GIN_TYPE='2', NCCL_IB_GID_INDEX='1', NCCL_SOCKET_IFNAME='lo', NCCL_MIN_NCHANNELS=str(RAILS),
               NCCL_MAX_NCHANNELS=str(RAILS))
    for rank in range(ranks):
        devices = [f'rxe_h{rank}r{rail}' for rail in range(RAILS)]
        topology = directory / f'topology{rank}.xml'
        topology.write_text(TOPOLOGY.format(nics=''.join(TOPOLOGY_NIC.format(bus=i + 2, device=d) for i, d in enumerate(devices))))
        env[f'RANK{rank}_NCCL_TOPO_FILE'] = str(topology)
        env[f'RANK{rank}_NCCL_IB_HCA'] = '=' + ','.join(d + ':1' for d in devices)
    return env
