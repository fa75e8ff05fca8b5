"""A machine small enough to be made by a test: a kernel of Debian's, busybox, dropbear, and an init that reads the seed.

make(DIR) returns (kernel, initrd) in DIR, made once; Unavailable says what is missing.  Packages: busybox,
dropbear-bin and kmod are installed; the kernel's is fetched and unpacked, since installing it would change this machine.
SPDX-License-Identifier: Apache-2.0
"""
import glob
import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess

MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_rng", "isofs")
INIT = r"""#!/bin/sh
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts; mount -t devpts devpts /dev/pts
for m in $(cat /modules/order); do insmod /modules/$m; done
ip link set lo up; ip link set eth0 up; ip address add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
for d in /dev/vd?; do
    mount -t iso9660 -o ro $d /seed 2>/dev/null && [ -e /seed/user-data ] && break
    umount /seed 2>/dev/null
done
# What cloud-init would do with these documents, as far as our own plugin writes them.
value() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}$/\1/p" /seed/$2; }
hostname "$(value local-hostname meta-data)"
printf '%b' "$(value ed25519_private user-data)" >/etc/key
sed -n '/"ssh_authorized_keys"/,/]/s/^ *"\(ssh-.*\)",\{0,1\}$/\1/p' /seed/user-data >/root/.ssh/authorized_keys
chmod 600 /etc/key /root/.ssh/authorized_keys
dropbearconvert openssh dropbear /etc/key /etc/dropbear_key
[ ! -b /dev/vdb ] || echo "disk $(cat /sys/block/vdb/size)"
echo "seeded $(hostname)"
exec dropbear -F -E -s -r /etc/dropbear_key -P /run/dropbear.pid
"""


class Unavailable(Exception):
    pass


def need(program, package):
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not found:
        raise Unavailable(f"no {program}: the package is {package}")
    return found


def run(*argv, **more):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise Unavailable(f"{argv[0]}: {done.stderr.strip()[-200:]}")
    return done.stdout


def unpack_kernel(work):
    """The tree of the kernel's package, with modules.dep."""
    tree = work / "kernel"
    listing = run("apt-cache", "depends", "linux-image-cloud-amd64")
    found = re.search(r"Depends: (linux-image-\S+)", listing)
    if not found:
        raise Unavailable("apt knows no linux-image-cloud-amd64")
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", found[1], cwd=work, timeout=120)
    debs = glob.glob(str(work / "linux-image-*.deb"))
    run("dpkg-deb", "-x", debs[0], str(tree))
    version = next((tree / "lib/modules").iterdir()).name
    run(need("depmod", "kmod"), "-b", str(tree), version)
    return tree, version


def modules_in_order(tree, version):
    """Paths, each behind those that it needs.  What is built in is not among them."""
    deps = {}
    base = tree / "lib/modules" / version
    for line in (base / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        deps[pathlib.Path(path).name.split(".")[0].replace("-", "_")] = [path, *rest.split()]
    order = []
    for name in MODULES:
        for path in reversed(deps.get(name, [])):
            if path not in order:
                order.append(path)
    return [base / path for path in order]


class Cpio:
    """An archive of the kind that kernels unpack at their start (newc)."""

    def __init__(self):
        self.parts, self.number = [], 0

    def add(self, name, mode, data=b""):
        self.number += 1
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name, mode=0o755):
        self.add(name, stat.S_IFDIR | mode)

    def file(self, name, data, mode=0o644):
        self.add(name, stat.S_IFREG | mode, data)

    def link(self, name, to):
        self.add(name, stat.S_IFLNK | 0o777, to.encode())

    def take(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def libraries(program):
    """Paths that its dynamic linker names; none of a program that has no need of one."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+\.so\S*)", said)


def initrd(modules):
    c = Cpio()
    busybox = need("busybox", "busybox")
    for name in ("bin", "dev", "proc", "sys", "run", "seed", "modules", "etc", "usr", "usr/bin", "lib", "lib64", "lib/x86_64-linux-gnu", "var", "var/log"):
        c.directory(name)
    c.directory("root", 0o700)
    c.directory("root/.ssh", 0o700)
    c.directory("tmp", 0o1777)
    c.file("init", INIT.encode(), 0o755)
    c.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    c.file("etc/group", b"root:x:0:\n")
    c.file("etc/shells", b"/bin/sh\n")
    for applet in run(busybox, "--list").split():
        if applet != "busybox":
            c.link(f"bin/{applet}", "busybox")
    needed = set()
    for program, package in (("busybox", "busybox"), ("dropbear", "dropbear-bin"), ("dropbearconvert", "dropbear-bin")):
        path = need(program, package)
        c.file(f"bin/{program}", pathlib.Path(path).read_bytes(), 0o755)
        needed.update(libraries(path))
    for lib in sorted(needed):
        c.file(lib.lstrip("/"), pathlib.Path(os.path.realpath(lib)).read_bytes(), 0o755)
    for path in modules:
        c.file(f"modules/{path.name}", path.read_bytes())
    c.file("modules/order", ("\n".join(p.name for p in modules) + "\n").encode())
    return gzip.compress(c.take(), 1)


def make(directory):
    directory = pathlib.Path(directory)
    kernel, disk = directory / "vmlinuz", directory / "initrd"
    work = directory / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        if not kernel.exists():
            tree, version = unpack_kernel(work)
            packed = directory / "modules"
            shutil.rmtree(packed, ignore_errors=True)
            packed.mkdir()
            for n, path in enumerate(modules_in_order(tree, version)):
                shutil.copyfile(path, packed / f"{n:02d}-{path.name}")
            shutil.copyfile(tree / f"boot/vmlinuz-{version}", directory / "vmlinuz.new")
            os.replace(directory / "vmlinuz.new", kernel)
        disk.with_suffix(".new").write_bytes(initrd(sorted((directory / "modules").iterdir())))
        os.replace(disk.with_suffix(".new"), disk)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return kernel, disk
