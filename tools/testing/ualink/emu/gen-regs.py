#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen-regs.py KERNEL OUTDIR: what the emulated GPU knows of register numbers.

Takes the numbers from amdgpu's own headers and writes OUTDIR/regs_gen.h (R_IP_NAME: index in
dwords; M_IP_NAME__FIELD: mask), OUTDIR/regnames_gen.h (a sorted table of index and name), and
OUTDIR/ips_gen.h (the blocks of the discovery table). Where the blocks lie is our own choice
but for the registers that the driver has as plain numbers.
"""
import re
import sys

# Of a register in a packet, the driver keeps 16 bits if these are in 0x2000..0x33ff or
# 0xa000..0xffff, those of an XCC: no other block that packets name may be there.
# name, macro of its hardware id, version, bases in dwords, header, masks wanted
IPS = [
    ("GC", "GC_HWID", (9, 5, 0), [0x2000, 0xa000, 0x02402c00], "gc/gc_9_4_3", True),
    ("HDP", "HDP_HWID", (4, 4, 5), [0xf20, 0x0240a400], "hdp/hdp_4_0", False),
    ("SDMA0", "SDMA0_HWID", (4, 4, 5), [0x1260, 0x12540, 0x0040a800], "sdma/sdma_4_4_2", True),
    ("MMHUB", "MMHUB_HWID", (1, 8, 1), [0x18000, 0x02408800], "mmhub/mmhub_1_8_0", False),
    ("ATHUB", "ATHUB_HWID", (1, 8, 1), [0xc20, 0x02408c00], "athub/athub_1_0", False),
    ("NBIO", "NBIF_HWID", (7, 9, 1),
     [0, 0x14, 0xd20, 0x10400, 0x0241b000, 0x04040000, 0, 0, 0x08000000], "nbio/nbio_7_9_0", False),
    ("OSSSYS", "OSSSYS_HWID", (4, 4, 5), [0x10a0, 0x0240a000], "oss/osssys_4_2_0", True),
    ("SMUIO", "SMUIO_HWID", (13, 0, 11), [0x16800, 0x16a00, 0x02401000, 0x03440000],
     "smuio/smuio_13_0_3", False),
    ("MP0", "MP0_HWID", (13, 0, 2), [0x16000, 0x0243fc00], "mp/mp_13_0_6", False),
]
# The UALink block comes last; its number is in no header of a stock kernel.
UALINK = ("UALINK", "298", (1, 0, 0), [0x1f000])
# registers that amdgpu_discovery.c and nbio name by plain numbers of their own
PLAIN = {"mmIP_DISCOVERY_VERSION": None, "mmRCC_CONFIG_MEMSIZE": None, "mmMP0_SMN_C2PMSG_33": None,
         "mmMM_INDEX": None, "mmMM_INDEX_HI": None, "mmMM_DATA": None, "mmDRIVER_SCRATCH_0": None,
         "mmDRIVER_SCRATCH_1": None, "mmDRIVER_SCRATCH_2": None}

DEFINE = re.compile(r"#define\s+(\w+)\s+(0x[0-9a-fA-F]+|\d+)L?\b")


def defines(path):
    with open(path, errors="replace") as f:
        for line in f:
            m = DEFINE.match(line)
            if m:
                yield m.group(1), int(m.group(2), 0)


def registers(amd, ip):
    offset, index = {}, {}
    for name, value in defines(f"{amd}/include/asic_reg/{ip[4]}_offset.h"):
        m = re.match(r"(?:reg|mm)(\w+)$", name)
        if not m:
            continue
        name = m.group(1)
        if name.endswith("_BASE_IDX"):
            index[name[:-9]] = value
        else:
            offset[name] = value
    for name, value in offset.items():
        if index.get(name, 0) < len(ip[3]):
            yield name, ip[3][index.get(name, 0)] + value


def plain(amd):
    found = dict(PLAIN)
    for name, value in defines(f"{amd}/amdgpu/amdgpu_discovery.c"):
        if name in found:
            found[name] = value
    missing = [name for name, value in found.items() if value is None]
    if missing:
        sys.exit(f"gen-regs.py: not in amdgpu_discovery.c any more: {missing}")
    return {name[2:]: value for name, value in found.items()}


def emit_regs(amd, out, names):
    with open(f"{out}/regs_gen.h", "w") as f:
        for name, value in plain(amd).items():
            f.write(f"#define R_{name} 0x{value:x}\n")
            names.setdefault(value, name)
        for ip in IPS:
            for name, value in registers(amd, ip):
                f.write(f"#define R_{ip[0]}_{name} 0x{value:x}\n")
                names.setdefault(value, f"{ip[0]}.{name}")
            if not ip[5]:
                continue
            for name, value in defines(f"{amd}/include/asic_reg/{ip[4]}_sh_mask.h"):
                if name.endswith("_MASK"):
                    f.write(f"#define M_{ip[0]}_{name[:-5]} 0x{value:x}u\n")
        f.write(f"#define R_UALINK 0x{UALINK[3][0]:x}\n")


def emit_names(out, names):
    used = [a for a in names if UALINK[3][0] <= a < 0x20000]
    if used:
        sys.exit(f"gen-regs.py: the UALink block overlaps {names[used[0]]}")
    with open(f"{out}/regnames_gen.h", "w") as f:
        for value in sorted(names):
            f.write(f"{{ 0x{value:x}, \"{names[value]}\" }},\n")


def emit_ips(out):
    with open(f"{out}/ips_gen.h", "w") as f:
        for name, hwid, ver, bases, *_ in IPS + [UALINK]:
            bases_text = ", ".join(f"0x{b:x}" for b in bases)
            f.write(f"{{ \"{name}\", {hwid}, {{ {ver[0]}, {ver[1]}, {ver[2]} }}, {len(bases)}, "
                    f"{{ {bases_text} }} }},\n")


def main():
    amd, out = f"{sys.argv[1]}/drivers/gpu/drm/amd", sys.argv[2]
    names = {}
    emit_regs(amd, out, names)
    emit_names(out, names)
    emit_ips(out)


main()
