/* host.h - a host of its own on this machine: the program anneal-host
 *
 * Something that a worker cannot tell from a real machine: own address on a bridge, own file
 * system over this machine's, own processes, host name, machine id, boot id, sshd with its own
 * key, and an init that starts services.  Tests and examples run on many of them.
 *
 *   anneal-host run --dir DIR --name NAME --address A/PREFIX --bridge BR ...   owns one host
 *   anneal-host link DIR up|down                                               its cable
 *
 * One process (run) owns everything of its host: TERM powers it off, HUP boots it again, and when
 * the process dies, even by SIGKILL, the kernel takes the host away: processes live in a pid
 * namespace whose first process dies with its parent, mounts in a mount namespace, the interface
 * goes with its other end.  On standard output it says "ready NAME ADDRESS" at each boot, and
 * "failed NAME: REASON" if it ends for that.
 *
 * DIR holds, for those outside: lock, pid (of run), init.pid (as seen from outside), boot_id,
 * host_key.pub, interface (on the bridge), link (up or down), state (booting, up, off), console.
 *
 * Inside the host the same program answers to other names, in /usr/local/sbin: systemctl,
 * service-run, reboot, poweroff, shutdown.  See host_unit_i.h for what units may say.
 *
 * To add a word that init understands: HOST_VERBS in host_i.h, and its case in host_init.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

/* The exit status for the process. */
int host_main(int argc, char **argv);

#endif
