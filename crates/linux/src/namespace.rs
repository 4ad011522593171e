//! The hosts of a rehearsal: network namespaces without names, each with a loopback interface and a virtual interface.

use crate::error::{RehearsalError, failed};
use crate::{netlink::Interfaces, user_namespace::path_of};
use crate::{realtime, tap, user_namespace};
use netlink_packet_route::link::LinkAttribute;
use nix::sched::{CloneFlags, setns, unshare};
use shallop_core::BitsPerSec;
use shallop_hosts::addresses;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use tun_rs::SyncDevice;

const PREFIX: u8 = 8;
const PREFIX_V6: u8 = 64;
/// The folder of IPv6 sysctls, which exists only if the kernel has IPv6.
const IPV6: &str = "/proc/sys/net/ipv6";
/// Sysctls that keep a host from making IPv6 addresses by itself or taking them from routers.
const ONLY_OUR_V6: [(&str, &str); 4] = [
    ("net.ipv6.conf.all.disable_ipv6", "0"),
    ("net.ipv6.conf.default.disable_ipv6", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_ra", "0"),
];
/// The transmit queue of a host's interface, in frames.
const QUEUE_FRAMES: u32 = 1_000;
/// The fastest link, in bit/s, to whose rate a host's interface is shaped. TCP alone paces faster links.
const FASTEST_SHAPED: u64 = 4_000_000_000;
/// The queue of a shaper at a host's interface, in bytes.
const SHAPER_QUEUE: u32 = 4 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    /// The most segments of a segmentation-offload frame; `None` for the kernel's default.
    pub(crate) gso_max_segs: Option<u32>,
    /// Sysctls, as `net.ipv4.tcp_timestamps`, with their values.
    pub(crate) sysctls: Vec<(String, String)>,
    /// Whether the thread of the emulator also does the hosts' receive processing (no receive packet steering).
    pub(crate) emulator_receives: bool,
}

pub(crate) struct Host {
    pub(crate) namespace: OwnedFd,
    /// Requests to the kernel about interfaces of the namespace.
    interfaces: Interfaces,
}

impl Host {
    /// The number of packets that the host's interface dropped because the emulator did not read them in time.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        self.interfaces.dropped(tap::NAME)
    }

    /// The number of packets with a wrong checksum. Moves this thread to the host's namespace.
    fn checksum_errors(&self) -> io::Result<u64> {
        enter(&self.namespace)?;
        Ok(checksum_errors_of(&fs::read_to_string("/proc/thread-self/net/snmp")?))
    }
}

/// The number of packets that hosts dropped because of a wrong checksum (`InCsumErrors`).
pub(crate) fn checksum_errors(hosts: &[Host]) -> Result<u64, RehearsalError> {
    let sum = || hosts.iter().map(Host::checksum_errors).sum::<io::Result<u64>>();
    apart(|| sum().map_err(failed("the counters of a host")))
}

/// The sum of all `InCsumErrors` of /proc/net/snmp, which has a line of names and a line of numbers for each protocol.
fn checksum_errors_of(snmp: &str) -> u64 {
    let lines: Vec<&str> = snmp.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| pair[0].split_whitespace().zip(pair[1].split_whitespace()));
    let errors = pairs.filter(|(name, _)| *name == "InCsumErrors");
    errors.filter_map(|(_, count)| count.parse::<u64>().ok()).sum()
}

fn own() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

pub(crate) fn enter(namespace: &impl AsFd) -> io::Result<()> {
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}

/// Runs `work` in a new thread, which may change its network namespace.
pub(crate) fn apart<T: Send>(work: impl FnOnce() -> Result<T, RehearsalError> + Send) -> Result<T, RehearsalError> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| Err(RehearsalError::Missing("a thread has failed".to_owned())))
}

/// Moves this thread to the namespace of a host.
pub(crate) fn enter_host(hosts: &[Host], number: u32) -> io::Result<()> {
    let host = hosts.get(number as usize).ok_or_else(|| io::Error::other("no such host"))?;
    enter(&host.namespace)
}

/// Makes hosts with links of these rates. This thread keeps its own namespace.
pub(crate) fn hosts(
    rates: &[BitsPerSec], settings: &HostSettings,
) -> Result<(Vec<Host>, Vec<SyncDevice>), RehearsalError> {
    apart(|| {
        let made = rates.iter().enumerate();
        let made = made.map(|(number, &rate)| host(number as u32, rate, settings));
        Ok(made.collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
    })
}

/// Makes a host, and moves this thread to its namespace.
fn host(number: u32, rate: BitsPerSec, settings: &HostSettings) -> Result<(Host, SyncDevice), RehearsalError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from).map_err(denied)?;
    if Path::new(IPV6).exists() {
        ONLY_OUR_V6.iter().try_for_each(|(name, value)| set(name, value))?;
    }
    if let Some(mask) = realtime::others_mask().filter(|_| !settings.emulator_receives) {
        // Processors of the hosts then do the receive processing. Older kernels lack this sysctl.
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
    let mut attributes =
        vec![LinkAttribute::Address(addresses::mac(number).to_vec()), LinkAttribute::TxQueueLen(QUEUE_FRAMES)];
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
        // The burst must hold a segmentation-offload frame, which would be cut otherwise.
        interfaces.shape(index, bits / 8, 1 << 17, SHAPER_QUEUE).map_err(system)?;
    }
    let namespace = own().map_err(system)?;
    Ok((Host { namespace, interfaces }, device))
}

/// Sets the default congestion controller of programs in a host, and moves this thread to its namespace. A namespace
/// may use only controllers that the machine allows to all users.
pub(crate) fn set_controller(host: &Host, name: &str) -> Result<(), RehearsalError> {
    const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
    const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";
    // Neither hosts nor user namespaces have this sysctl.
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

/// Sets a sysctl of this thread's namespace.
fn set(name: &str, value: &str) -> Result<(), RehearsalError> {
    fs::write(path_of(name), value).map_err(failed(format!("sysctl {name} = {value}")))
}

/// The error of a refused network namespace, which says how to allow it.
fn denied(why: io::Error) -> RehearsalError {
    // ENOSPC: the limit `user.max_net_namespaces`.
    if matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::StorageFull) {
        return RehearsalError::Missing(user_namespace::denied());
    }
    failed("a network namespace")(why)
}

/// The error of a missing virtual network interface, which says how to get one.
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
    fn checksum_errors_of_all_protocols_are_summed() {
        let text = "Tcp: RtoMin InErrs InCsumErrors\nTcp: 200 7 3\nUdp: InDatagrams InCsumErrors\nUdp: 9 4\n";
        assert_eq!(checksum_errors_of(text), 7);
    }
}
