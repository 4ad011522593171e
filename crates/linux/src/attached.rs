//! Interfaces of this machine in the place of hosts: what is behind one is a host of the emulated network. A packet
//! socket reads and writes its frames; the interface keeps its addresses, and is as before when the socket is closed,
//! which the end of the process does too.
//!
//! What is behind the interface has the IPv4 address of the host, and asks for the addresses of the others (ARP), which
//! are answered here. Frames from any other address are none of the host's, and are left alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{SockaddrStorage, bind, getsockopt, setsockopt};
use shallop_hosts::addresses;
use shallop_hosts::frame::{self, ETHERNET};
use shallop_hosts::offload::HEADER;
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::{RehearsalError, failed};
use crate::options::{IgnoreOutgoing, Membership, PacketStatistics, VirtioHeader};

/// Bytes that the socket holds until they are read.
const HELD: usize = 4 << 20;
/// The type of ARP frames.
const ARP: [u8; 2] = [0x08, 0x06];
/// ARP between Ethernet and IPv4 (RFC 826), up to the operation.
const ARP_OF_IPV4: [u8; 7] = [0, 1, 8, 0, 6, 4, 0];
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
/// Bytes of an ARP frame.
const ARP_FRAME: usize = ETHERNET + 28;
/// Frames that wait until the Ethernet address behind the interface is known.
const MOST_WAITING: usize = 64;
/// The Ethernet address of all.
const ALL: [u8; 6] = [0xff; 6];
/// The shortest Ethernet frame, without its checksum.
const SHORTEST: usize = 60;

/// An interface in the place of a host.
pub(crate) struct Interface {
    socket: Socket,
    host: u32,
    /// The number of hosts.
    hosts: u32,
    /// The Ethernet address behind the interface, once it is known.
    peer: Option<[u8; 6]>,
    /// Frames for it until then.
    waiting: Vec<Vec<u8>>,
}

/// Why there is no such interface: those that there are.
fn unknown(name: &str) -> RehearsalError {
    let all = getifaddrs().map(|all| all.map(|of| of.interface_name).collect::<Vec<_>>());
    let mut all = all.unwrap_or_default();
    all.sort_unstable();
    all.dedup();
    let known = all.join(", ");
    RehearsalError::Refused(format!("this machine has no interface \"{name}\"; it has {known}"))
}

/// Whether an interface of this machine is up.
///
/// # Errors
/// If there is none with this name.
pub fn is_up(name: &str) -> Result<bool, RehearsalError> {
    let all = getifaddrs().map_err(|why| failed("the interfaces of this machine")(why.into()))?;
    let mut of_it = all.filter(|of| of.interface_name == name);
    let first = of_it.next().ok_or_else(|| unknown(name))?;
    Ok(first.flags.contains(InterfaceFlags::IFF_UP))
}

impl Interface {
    /// The interface with this name in the place of a host, of so many.
    ///
    /// # Errors
    /// If there is no such interface, or this process may not read its frames.
    pub(crate) fn open(name: &str, host: u32, hosts: u32) -> Result<Self, RehearsalError> {
        let Ok(index) = if_nametoindex(name) else {
            return Err(unknown(name));
        };
        let address = link_address(name)?;
        let open = || -> io::Result<Socket> {
            let every = i32::from((libc::ETH_P_ALL as u16).to_be());
            let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(every)))?;
            socket.set_nonblocking(true)?;
            socket.set_recv_buffer_size(HELD)?;
            setsockopt(&socket, VirtioHeader, &1)?;
            setsockopt(&socket, IgnoreOutgoing, &1)?;
            bind(socket.as_raw_fd(), &address)?;
            // The others' Ethernet addresses are not its own.
            let all_frames = libc::packet_mreq {
                mr_ifindex: index.cast_signed(),
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            setsockopt(&socket, Membership, &all_frames)?;
            Ok(socket)
        };
        match open() {
            Ok(socket) => Ok(Self { socket, host, hosts, peer: None, waiting: Vec::new() }),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                Err(RehearsalError::Missing(format!(
                    "the frames of interface {name} are for root only (CAP_NET_RAW): run it as root"
                )))
            }
            Err(why) => Err(failed(format!("interface {name}"))(why)),
        }
    }

    /// What counts the frames of this interface that were not read in time, which is there longer than the interface.
    pub(crate) fn watch(&self) -> Result<Watch, RehearsalError> {
        self.socket.try_clone().map(Watch).map_err(failed("an interface"))
    }

    /// Reads a frame that is of the host into `frame`, with a virtio-net header, and returns its bytes. `None` if there
    /// is none.
    pub(crate) fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        loop {
            let count = match rustix::io::read(&self.socket, &mut *frame) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return None,
            };
            let Some(bytes) = frame.get(HEADER..count) else { continue };
            let here = addresses::address(self.host);
            if let Some(arp) = Arp::of(bytes).filter(|arp| arp.from == here) {
                self.learn(arp.mac);
                self.answer(&arp);
            } else if let Some((from, _)) = frame::addresses(bytes)
                && from == here
                && let Some(mac) = bytes.get(6..12).and_then(<[u8]>::first_chunk)
            {
                self.learn(*mac);
                return Some(count);
            }
        }
    }

    /// Writes a frame with a virtio-net header. False if it is not taken.
    pub(crate) fn send(&mut self, frame: &[u8]) -> bool {
        let mut frame = frame.to_vec();
        frame.resize(frame.len().max(HEADER + SHORTEST), 0);
        if let Some(peer) = self.peer {
            frame[HEADER..HEADER + 6].copy_from_slice(&peer);
            return self.write(&frame);
        }
        // Some other host asks for the address: the first.
        let other = u32::from(self.host == 0);
        let request = Arp {
            operation: REQUEST,
            mac: addresses::mac(other),
            from: addresses::address(other),
            to: addresses::address(self.host),
        };
        let is_kept = self.waiting.len() < MOST_WAITING && self.write(&request.frame(ALL));
        if is_kept {
            self.waiting.push(frame);
        }
        is_kept
    }

    fn write(&self, frame: &[u8]) -> bool {
        rustix::io::write(&self.socket, frame) == Ok(frame.len())
    }

    /// The Ethernet address behind the interface is this.
    fn learn(&mut self, mac: [u8; 6]) {
        self.peer = Some(mac);
        for frame in std::mem::take(&mut self.waiting) {
            // What is not taken now was lost on the link to the host.
            let _ = self.send(&frame);
        }
    }

    /// Answers what asks for the Ethernet address of another host.
    fn answer(&self, arp: &Arp) {
        let other = addresses::host_of(arp.to).filter(|&other| other < self.hosts);
        let Some(other) = other.filter(|&other| other != self.host) else { return };
        if arp.operation == REQUEST {
            let mac = addresses::mac(other);
            let reply = Arp { operation: REPLY, mac, from: arp.to, to: arp.from };
            // It asks again if this is lost.
            let _ = self.write(&reply.frame(arp.mac));
        }
    }
}

/// What counts the frames of an interface that were not read in time.
pub(crate) struct Watch(Socket);

impl Watch {
    /// How many they are; zero when it is asked again.
    pub(crate) fn dropped(&self) -> Result<u64, RehearsalError> {
        let counted = getsockopt(&self.0, PacketStatistics);
        let counted = counted.map_err(|why| failed("the counters of an interface")(why.into()))?;
        Ok(u64::from(counted.tp_drops))
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A request for an Ethernet address, or the answer to one (RFC 826).
#[derive(Debug, PartialEq, Eq)]
struct Arp {
    operation: u8,
    /// The Ethernet address of the sender, and its IPv4 address.
    mac: [u8; 6],
    from: u32,
    /// The IPv4 address that is asked for, or of whoever has asked.
    to: u32,
}

impl Arp {
    /// That of a frame, if it is one.
    fn of(frame: &[u8]) -> Option<Self> {
        let arp = frame.get(..ARP_FRAME).filter(|frame| frame[12..14] == ARP)?;
        let arp = arp[ETHERNET..].strip_prefix(&ARP_OF_IPV4)?;
        let (&operation, arp) = arp.split_first()?;
        let (&mac, arp) = arp.split_first_chunk::<6>()?;
        let (&from, arp) = arp.split_first_chunk::<4>()?;
        let to = *arp.get(6..)?.first_chunk::<4>()?;
        let [from, to] = [from, to].map(u32::from_be_bytes);
        Some(Self { operation, mac, from, to })
    }

    /// Its frame to this Ethernet address, with a virtio-net header.
    fn frame(&self, destination: [u8; 6]) -> Vec<u8> {
        let mut frame = [[0; HEADER].as_slice(), &destination, &self.mac, &ARP].concat();
        frame.extend(ARP_OF_IPV4);
        frame.push(self.operation);
        frame.extend(self.mac);
        frame.extend(self.from.to_be_bytes());
        frame.extend(if self.operation == REPLY { destination } else { [0; 6] });
        frame.extend(self.to.to_be_bytes());
        frame.resize(HEADER + SHORTEST, 0);
        frame
    }
}

/// The address of an interface for sockets that are bound to it.
fn link_address(name: &str) -> Result<SockaddrStorage, RehearsalError> {
    let what = || failed(format!("interface {name}"));
    let mut all = getifaddrs().map_err(|why| what()(why.into()))?;
    let link = all.find_map(|of| {
        of.address.filter(|at| of.interface_name == name && at.as_link_addr().is_some())
    });
    link.ok_or_else(|| what()(io::Error::other("it has no Ethernet address")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    /// An interface in the place of host 0 of three, and the other end of its line.
    fn interface() -> (Interface, Socket) {
        let (here, there) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        here.set_nonblocking(true).and(there.set_nonblocking(true)).unwrap();
        (Interface { socket: here, host: 0, hosts: 3, peer: None, waiting: Vec::new() }, there)
    }

    fn request(from: u8, to: u8) -> Vec<u8> {
        let [from, to] = [from, to].map(|of| u32::from_be_bytes([10, 0, 0, of]));
        Arp { operation: REQUEST, mac: [7; 6], from, to }.frame(ALL)
    }

    fn read(socket: &Socket) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 2_000];
        let count = rustix::io::read(socket, &mut bytes[..]).ok()?;
        bytes.truncate(count);
        Some(bytes)
    }

    /// What the interface answers to this.
    fn answer(bytes: &[u8]) -> Option<Arp> {
        let (mut interface, there) = interface();
        rustix::io::write(&there, bytes).unwrap();
        assert_eq!(interface.receive(&mut [0; 2_000]), None);
        read(&there).and_then(|answer| Arp::of(&answer[HEADER..]))
    }

    #[test]
    fn requests_of_the_host_for_others_are_answered_and_no_others() {
        let (from, to) = (addresses::address(2), addresses::address(0));
        let expected = Arp { operation: REPLY, mac: addresses::mac(2), from, to };
        assert_eq!(answer(&request(1, 3)), Some(expected));
        for other in [request(1, 1), request(1, 4), request(2, 3), request(1, 3)[..40].to_vec()] {
            assert_eq!(answer(&other), None);
        }
        for at in [12, 14, 21] {
            let mut other = request(1, 3);
            other[HEADER + at] ^= 0x11;
            assert_eq!(answer(&other), None, "{at}");
        }
    }

    #[test]
    fn frames_wait_until_the_address_is_known_and_no_more_than_a_few() {
        let (mut interface, there) = interface();
        let frame = [9; HEADER + 100];
        assert!(interface.send(&frame));
        let asked = read(&there).unwrap();
        assert_eq!(asked[HEADER..HEADER + 6], ALL);
        let asked = Arp::of(&asked[HEADER..]).unwrap();
        assert_eq!((asked.operation, asked.to), (REQUEST, addresses::address(0)));
        for _ in 1..MOST_WAITING {
            assert!(interface.send(&frame) && read(&there).is_some());
        }
        assert!(!interface.send(&frame), "too many");
        rustix::io::write(&there, &request(1, 1)).unwrap();
        assert_eq!(interface.receive(&mut [0; 2_000]), None);
        for _ in 0..MOST_WAITING {
            let sent = read(&there).unwrap();
            assert_eq!((&sent[HEADER..HEADER + 6], sent.len()), (&[7; 6][..], HEADER + 100));
        }
        assert!(read(&there).is_none());
    }
}
