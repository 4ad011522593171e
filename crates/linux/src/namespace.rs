//! The hosts of a rehearsal: network namespaces without names, each with a loopback interface and one card.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use netlink_packet_route::link::LinkAttribute;
use nix::sched::{CloneFlags, setns, unshare};
use shallop_core::BitsPerSec;
use shallop_hosts::addresses;
use tun_rs::SyncDevice;

use crate::error::{RehearsalError, failed};
use crate::netlink::Interfaces;
use crate::{realtime, tap, user_namespace};

/// Addresses of hosts have the first 8 bits in common.
const PREFIX: u8 = 8;
/// IPv6 addresses of hosts have the first 64 bits in common.
const PREFIX_V6: u8 = 64;
/// The sysctls of IPv6, which a kernel without IPv6 does not have.
const IPV6: &str = "/proc/sys/net/ipv6";
/// A host has the IPv6 address that it is given: it makes none of its own and takes none from routers.
const ONLY_OUR_V6: [(&str, &str); 4] = [
    ("net.ipv6.conf.all.disable_ipv6", "0"),
    ("net.ipv6.conf.default.disable_ipv6", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_ra", "0"),
];
/// Frames that a card holds until the emulator reads them.
const CARD_FRAMES: u32 = 1_000;
/// The fastest link of a host whose rate its card keeps to by itself. Faster ones are paced by TCP alone.
const FASTEST_SHAPED: u64 = 4_000_000_000;

/// What all hosts have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The most segments of a frame of segmentation offload; `None` for what the kernel chooses.
    pub(crate) gso_max_segs: Option<u32>,
    /// Sysctls, as `net.ipv4.tcp_timestamps`, with their values.
    pub(crate) sysctls: Vec<(String, String)>,
    /// Whether the emulator's own thread receives for the hosts what it writes to them.
    pub(crate) emulator_receives: bool,
}

/// A host.
pub(crate) struct Host {
    /// Its namespace.
    pub(crate) namespace: OwnedFd,
    /// The interface of its card, in the namespace.
    interfaces: Interfaces,
}

impl Host {
    /// Packets that its card has dropped because they were not read in time.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        self.interfaces.dropped(tap::NAME)
    }

    /// Packets that its kernel has dropped because a checksum was wrong. This thread is in its namespace afterwards.
    fn checksum_errors(&self) -> io::Result<u64> {
        enter(&self.namespace)?;
        Ok(checksum_errors_of(&fs::read_to_string("/proc/thread-self/net/snmp")?))
    }
}

/// Packets that kernels of hosts have dropped because a checksum was wrong (`InCsumErrors`).
pub(crate) fn checksum_errors(hosts: &[Host]) -> Result<u64, RehearsalError> {
    let sum = || hosts.iter().map(Host::checksum_errors).sum::<io::Result<u64>>();
    apart(|| sum().map_err(failed("the counters of a host")))
}

/// The sum of all counters `InCsumErrors` of /proc/net/snmp: a line of names and one of numbers for each protocol.
fn checksum_errors_of(snmp: &str) -> u64 {
    let lines: Vec<&str> = snmp.lines().collect();
    let pairs = lines
        .chunks_exact(2)
        .flat_map(|pair| pair[0].split_whitespace().zip(pair[1].split_whitespace()));
    let errors = pairs.filter(|(name, _)| *name == "InCsumErrors");
    errors.filter_map(|(_, count)| count.parse::<u64>().ok()).sum()
}

/// The namespace of this thread.
fn own() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Moves this thread to a network namespace.
pub(crate) fn enter(namespace: &impl AsFd) -> io::Result<()> {
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}

/// Runs something in a network namespace of its own thread, which ends with it.
pub(crate) fn apart<T: Send>(
    work: impl FnOnce() -> Result<T, RehearsalError> + Send,
) -> Result<T, RehearsalError> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| Err(RehearsalError::Missing("a thread has failed".to_owned())))
}

/// Puts this thread into the namespace of the host with this number.
pub(crate) fn enter_host(hosts: &[Host], number: u32) -> io::Result<()> {
    let host = hosts.get(number as usize).ok_or_else(|| io::Error::other("no such host"))?;
    enter(&host.namespace)
}

/// Makes hosts with these rates of their links, by number. This thread keeps its own namespace.
pub(crate) fn hosts(
    rates: &[BitsPerSec],
    settings: &Settings,
) -> Result<(Vec<Host>, Vec<SyncDevice>), RehearsalError> {
    apart(|| {
        let made = rates.iter().enumerate();
        let made = made.map(|(number, &rate)| host(number as u32, rate, settings));
        Ok(made.collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
    })
}

/// Makes a host; this thread is in its namespace afterwards.
fn host(
    number: u32,
    rate: BitsPerSec,
    settings: &Settings,
) -> Result<(Host, SyncDevice), RehearsalError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from).map_err(denied)?;
    if Path::new(IPV6).exists() {
        ONLY_OUR_V6.iter().try_for_each(|(name, value)| set(name, value))?;
    }
    if let Some(mask) = realtime::others_mask().filter(|_| !settings.emulator_receives) {
        // What is written to a host is then received by a processor of the hosts. An older kernel has no such sysctl.
        let _ = set("net.core.rps_default_mask", &mask);
    }
    settings.sysctls.iter().try_for_each(|(name, value)| set(name, value))?;
    let device = tap::open().map_err(no_tap)?;
    let what = || format!("the card of host {number}");
    let system = |why| RehearsalError::System { what: what(), why };
    let mut interfaces = Interfaces::here().map_err(system)?;
    let loopback = interfaces.index("lo").map_err(system)?;
    interfaces.set_up(loopback, Vec::new()).map_err(system)?;
    let index = interfaces.index(tap::NAME).map_err(system)?;
    let mut attributes = vec![
        LinkAttribute::Address(addresses::mac(number).to_vec()),
        LinkAttribute::TxQueueLen(CARD_FRAMES),
    ];
    attributes.extend(settings.gso_max_segs.map(LinkAttribute::GsoMaxSegs));
    interfaces.set_up(index, attributes).map_err(system)?;
    let address = Ipv4Addr::from_bits(addresses::address(number));
    interfaces.add_address(index, address.into(), PREFIX).map_err(system)?;
    let address = Ipv6Addr::from_bits(addresses::address_v6(number));
    if Path::new(IPV6).exists() {
        interfaces.add_address(index, address.into(), PREFIX_V6).map_err(system)?;
    }
    let bits = rate.get();
    if bits <= FASTEST_SHAPED {
        // A frame of segmentation offload must fit, or the card would cut it before its time.
        interfaces.shape(index, bits / 8, 1 << 17).map_err(system)?;
    }
    let namespace = own().map_err(system)?;
    Ok((Host { namespace, interfaces }, device))
}

/// Sets the congestion controller that programs in a host have. This thread is in its namespace afterwards. A namespace
/// may only have one that the machine allows to everybody, unless it is the machine's own.
pub(crate) fn set_controller(host: &Host, name: &str) -> Result<(), RehearsalError> {
    const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
    const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";
    // Hosts have no such sysctl; a user namespace has none either.
    let allowed = fs::read_to_string(path_of(ALLOWED)).unwrap_or_else(|_| "reno".to_owned());
    enter(&host.namespace).map_err(failed("a host's namespace"))?;
    let now = fs::read_to_string(path_of(DEFAULT)).unwrap_or_default();
    if now.trim() == name {
        return Ok(());
    }
    set(DEFAULT, name).map_err(|_| {
        RehearsalError::Missing(format!(
            "programs in hosts cannot have {name}, as this machine does not allow it to them: allow it with 'sysctl -w \
             {ALLOWED}=\"{} {name}\"' as root, or take {}",
            allowed.trim(),
            now.trim()
        ))
    })
}

pub(crate) fn path_of(sysctl: &str) -> PathBuf {
    Path::new("/proc/sys").join(sysctl.replace('.', "/"))
}

/// Sets a sysctl of this thread's namespace.
fn set(name: &str, value: &str) -> Result<(), RehearsalError> {
    fs::write(path_of(name), value).map_err(failed(format!("sysctl {name} = {value}")))
}

/// Why there is no namespace, and what would allow one.
fn denied(why: io::Error) -> RehearsalError {
    // ENOSPC: more namespaces than user.max_net_namespaces.
    if matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::StorageFull) {
        return RehearsalError::Missing(user_namespace::denied());
    }
    failed("a network namespace")(why)
}

/// Why there is no virtual network interface.
fn no_tap(why: io::Error) -> RehearsalError {
    match why.kind() {
        io::ErrorKind::PermissionDenied => RehearsalError::Missing(
            "/dev/net/tun is for root only here: run it as root, or let others open it (chmod 666 /dev/net/tun)"
                .to_owned(),
        ),
        io::ErrorKind::NotFound => RehearsalError::Missing(
            "there is no /dev/net/tun: this kernel has no TUN driver, or it is not loaded (modprobe tun)".to_owned(),
        ),
        _ => failed("a virtual network interface")(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_errors_of_all_protocols_are_added() {
        let text = "Tcp: RtoMin InErrs InCsumErrors\nTcp: 200 7 3\nUdp: InDatagrams InCsumErrors\nUdp: 9 4\n";
        assert_eq!(checksum_errors_of(text), 7);
    }
}
