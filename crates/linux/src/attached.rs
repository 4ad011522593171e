//! Interfaces of this machine that replace hosts: the machine behind the interface is a host of the emulated network. A
//! packet socket reads and writes its frames. The interface keeps its own addresses, and is unchanged once the socket
//! is closed, at the latest by the end of the process.
//!
//! The machine behind the interface has the IPv4 address of the host. Its ARP requests for other hosts are answered
//! here. Frames from any other address are ignored.

use crate::error::{RehearsalError, failed};
use crate::options::{IgnoreOutgoing, Membership, PacketStatistics, VirtioHeader};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{SockaddrStorage, bind, getsockopt, setsockopt};
use nix::{ifaddrs::getifaddrs, libc};
use shallop_hosts::addresses;
use shallop_hosts::frame::{self, ETHERNET};
use shallop_hosts::offload::HEADER;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The receive buffer of the packet socket, in bytes: it holds frames while the emulator does other work.
const RECEIVE_BUFFER: usize = 4 << 20;
const ARP: [u8; 2] = [0x08, 0x06];
/// The first fields of an ARP message for Ethernet and IPv4 (RFC 826), before the operation.
const ARP_OF_IPV4: [u8; 7] = [0, 1, 8, 0, 6, 4, 0];
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ARP_FRAME: usize = ETHERNET + 28;
/// The most frames that wait until the Ethernet address behind the interface is known.
const MAX_WAITING: usize = 64;
const BROADCAST: [u8; 6] = [0xff; 6];
/// The shortest Ethernet frame, without its checksum.
const SHORTEST: usize = 60;

/// An interface of this machine that replaces a host.
pub(crate) struct Interface {
    socket: Socket,
    host: u32,
    /// The number of hosts in the network.
    hosts: u32,
    /// The Ethernet address behind the interface, once it is known.
    peer: Option<[u8; 6]>,
    /// Frames to the host that wait for its Ethernet address.
    waiting: Vec<Vec<u8>>,
}

/// The error of an unknown interface, with the names of all interfaces.
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
/// If no interface has this name.
pub fn is_up(name: &str) -> Result<bool, RehearsalError> {
    let all = getifaddrs().map_err(|why| failed("the interfaces of this machine")(why.into()))?;
    let mut of_it = all.filter(|of| of.interface_name == name);
    let first = of_it.next().ok_or_else(|| unknown(name))?;
    Ok(first.flags.contains(InterfaceFlags::IFF_UP))
}

impl Interface {
    /// Replaces a host by the interface with this name. `hosts` is the number of hosts in the network.
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
            socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
            setsockopt(&socket, VirtioHeader, &1)?;
            setsockopt(&socket, IgnoreOutgoing, &1)?;
            bind(socket.as_raw_fd(), &address)?;
            // Frames to other hosts have Ethernet addresses that the interface does not accept by itself.
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
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Err(RehearsalError::Missing(format!(
                "the frames of interface {name} are for root only (CAP_NET_RAW): run it as root"
            ))),
            Err(why) => Err(failed(format!("interface {name}"))(why)),
        }
    }

    /// A counter of lost frames, which outlives the interface.
    pub(crate) fn watch(&self) -> Result<Watch, RehearsalError> {
        self.socket.try_clone().map(Watch).map_err(failed("an interface"))
    }

    /// Reads the next frame of the host into `frame`, with a virtio-net header. Returns the length in bytes; `None` if
    /// no frame is there.
    pub(crate) fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        loop {
            let count = match rustix::io::read(&self.socket, &mut *frame) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return None,
            };
            let Some(bytes) = frame.get(HEADER..count) else { continue };
            let here = addresses::address(self.host);
            if let Some(arp) = Arp::from_frame(bytes).filter(|arp| arp.from == here) {
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

    /// Writes a frame with a virtio-net header. False if the interface does not take it.
    pub(crate) fn send(&mut self, frame: &[u8]) -> bool {
        let mut frame = frame.to_vec();
        frame.resize(frame.len().max(HEADER + SHORTEST), 0);
        if let Some(peer) = self.peer {
            frame[HEADER..HEADER + 6].copy_from_slice(&peer);
            return self.write(&frame);
        }
        // The lowest other host asks for the address.
        let other = u32::from(self.host == 0);
        let request = Arp {
            operation: REQUEST,
            mac: addresses::mac(other),
            from: addresses::address(other),
            to: addresses::address(self.host),
        };
        let is_kept = self.waiting.len() < MAX_WAITING && self.write(&request.frame(BROADCAST));
        if is_kept {
            self.waiting.push(frame);
        }
        is_kept
    }

    fn write(&self, frame: &[u8]) -> bool {
        rustix::io::write(&self.socket, frame) == Ok(frame.len())
    }

    /// Stores the Ethernet address behind the interface, and sends the waiting frames.
    fn learn(&mut self, mac: [u8; 6]) {
        self.peer = Some(mac);
        for frame in std::mem::take(&mut self.waiting) {
            // A frame that is not taken counts as lost on the link.
            let _ = self.send(&frame);
        }
    }

    /// Answers a request for the Ethernet address of another host.
    fn answer(&self, arp: &Arp) {
        let other = addresses::host_of(arp.to).filter(|&other| other < self.hosts);
        let Some(other) = other.filter(|&other| other != self.host) else { return };
        if arp.operation == REQUEST {
            let mac = addresses::mac(other);
            let reply = Arp { operation: REPLY, mac, from: arp.to, to: arp.from };
            // The host repeats its request if the answer is lost.
            let _ = self.write(&reply.frame(arp.mac));
        }
    }
}

/// A counter of the frames of an interface that the emulator did not read in time.
pub(crate) struct Watch(Socket);

impl Watch {
    /// The number of lost frames since the last call.
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

/// An ARP request or reply (RFC 826).
#[derive(Debug, PartialEq, Eq)]
struct Arp {
    operation: u8,
    /// The Ethernet address of the sender.
    mac: [u8; 6],
    /// The IPv4 address of the sender.
    from: u32,
    /// The requested IPv4 address; in a reply the address of the requester.
    to: u32,
}

impl Arp {
    /// Reads the ARP message of a frame; `None` for other frames.
    fn from_frame(frame: &[u8]) -> Option<Self> {
        let arp = frame.get(..ARP_FRAME).filter(|frame| frame[12..14] == ARP)?;
        let arp = arp[ETHERNET..].strip_prefix(&ARP_OF_IPV4)?;
        let (&operation, arp) = arp.split_first()?;
        let (&mac, arp) = arp.split_first_chunk::<6>()?;
        let (&from, arp) = arp.split_first_chunk::<4>()?;
        let to = *arp.get(6..)?.first_chunk::<4>()?;
        let [from, to] = [from, to].map(u32::from_be_bytes);
        Some(Self { operation, mac, from, to })
    }

    /// The frame of this message to an Ethernet address, with a virtio-net header.
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

/// The link-layer address of an interface, to which a packet socket is bound.
fn link_address(name: &str) -> Result<SockaddrStorage, RehearsalError> {
    let what = || failed(format!("interface {name}"));
    let mut all = getifaddrs().map_err(|why| what()(why.into()))?;
    let link = all.find_map(|of| of.address.filter(|at| of.interface_name == name && at.as_link_addr().is_some()));
    link.ok_or_else(|| what()(io::Error::other("it has no Ethernet address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interface that replaces host 0 of three, and the peer of its socket.
    fn interface() -> (Interface, Socket) {
        let (here, there) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        here.set_nonblocking(true).and(there.set_nonblocking(true)).unwrap();
        (Interface { socket: here, host: 0, hosts: 3, peer: None, waiting: Vec::new() }, there)
    }

    fn request(from: u8, to: u8) -> Vec<u8> {
        let [from, to] = [from, to].map(|of| u32::from_be_bytes([10, 0, 0, of]));
        Arp { operation: REQUEST, mac: [7; 6], from, to }.frame(BROADCAST)
    }

    fn read(socket: &Socket) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 2_000];
        let count = rustix::io::read(socket, &mut bytes[..]).ok()?;
        bytes.truncate(count);
        Some(bytes)
    }

    fn answer(bytes: &[u8]) -> Option<Arp> {
        let (mut interface, there) = interface();
        rustix::io::write(&there, bytes).unwrap();
        assert_eq!(interface.receive(&mut [0; 2_000]), None);
        read(&there).and_then(|answer| Arp::from_frame(&answer[HEADER..]))
    }

    #[test]
    fn only_requests_of_the_host_for_other_hosts_are_answered() {
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
    fn a_limited_number_of_frames_waits_until_the_address_is_known() {
        let (mut interface, there) = interface();
        let frame = [9; HEADER + 100];
        assert!(interface.send(&frame));
        let asked = read(&there).unwrap();
        assert_eq!(asked[HEADER..HEADER + 6], BROADCAST);
        let asked = Arp::from_frame(&asked[HEADER..]).unwrap();
        assert_eq!((asked.operation, asked.to), (REQUEST, addresses::address(0)));
        for _ in 1..MAX_WAITING {
            assert!(interface.send(&frame) && read(&there).is_some());
        }
        assert!(!interface.send(&frame), "too many");
        rustix::io::write(&there, &request(1, 1)).unwrap();
        assert_eq!(interface.receive(&mut [0; 2_000]), None);
        for _ in 0..MAX_WAITING {
            let sent = read(&there).unwrap();
            assert_eq!((&sent[HEADER..HEADER + 6], sent.len()), (&[7; 6][..], HEADER + 100));
        }
        assert!(read(&there).is_none());
    }
}
