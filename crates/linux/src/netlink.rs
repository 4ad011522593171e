//! Requests to the kernel about network interfaces (`rtnetlink(7)`), each with its answer. A netlink socket belongs to
//! the network namespace in which it was opened.

use std::{io, net::IpAddr};

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Attributes of the queue discipline `tbf` (`linux/pkt_sched.h`).
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_BURST: u16 = 6;
/// Frames have the lengths of Ethernet, so that the kernel needs no rate table (`TC_LINKLAYER_ETHERNET`).
const LINK_LAYER_ETHERNET: u8 = 1;

pub(crate) struct Interfaces {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Interfaces {
    /// Opens the interfaces of this thread's network namespace.
    pub(crate) fn here() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; 32 << 10] })
    }

    /// Sends a request and returns the messages of the answer, without the final one.
    pub(crate) fn ask(&mut self, request: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut message = NetlinkMessage::from(request);
        self.sequence += 1;
        message.header.sequence_number = self.sequence;
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answers = Vec::new();
        loop {
            let count = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let mut rest = &self.buffer[..count];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or(&[]);
                match message.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(message) => answers.push(message),
                    _ => {}
                }
            }
        }
    }

    pub(crate) fn link(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        match self.ask(RouteNetlinkMessage::GetLink(request), 0)?.pop() {
            Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            _ => Err(io::Error::other(format!("no interface \"{name}\""))),
        }
    }

    pub(crate) fn index(&mut self, name: &str) -> io::Result<u32> {
        Ok(self.link(name)?.header.index)
    }

    /// The number of packets that an interface dropped instead of sending them.
    pub(crate) fn dropped(&mut self, name: &str) -> io::Result<u64> {
        let link = self.link(name)?;
        let of = |attribute: &LinkAttribute| match attribute {
            LinkAttribute::Stats64(counts) => Some(counts.tx_dropped),
            _ => None,
        };
        Ok(link.attributes.iter().find_map(of).unwrap_or(0))
    }

    /// Changes the attributes of an interface and sets it up, without neighbour requests (ARP).
    pub(crate) fn set_up(&mut self, index: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        request.header.change_mask = request.header.flags;
        request.attributes = attributes;
        self.ask(RouteNetlinkMessage::SetLink(request), 0).map(drop)
    }

    /// Adds an address to an interface, with a route to its prefix.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut request = AddressMessage::default();
        request.header.family = match address {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        request.header.prefix_len = prefix;
        request.header.index = index;
        request.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.ask(RouteNetlinkMessage::NewAddress(request), NLM_F_CREATE).map(drop)
    }

    /// Makes a shaper the root queue discipline of an interface (`tc-tbf(8)`). `burst` and `limit`, the length of the
    /// queue, are in bytes. Packets in the queue still count for TCP small queues.
    pub(crate) fn shape(&mut self, index: u32, bytes_per_second: u64, burst: u32, limit: u32) -> io::Result<()> {
        /// Bytes of a frame's preamble, check sequence and gap on the wire.
        const OVERHEAD: u16 = 24;
        let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        // struct tc_tbf_qopt: two struct tc_ratespec, then limit, buffer and mtu.
        let mut parameters = vec![0, LINK_LAYER_ETHERNET];
        parameters.extend(OVERHEAD.to_ne_bytes());
        parameters.extend([0; 4]);
        parameters.extend(rate.to_ne_bytes());
        parameters.extend([0; 12]);
        parameters.extend(limit.to_ne_bytes());
        parameters.extend([0; 8]);
        let option = |kind, bytes| TcOption::Other(DefaultNla::new(kind, bytes));
        let mut request = TcMessage::with_index(index.cast_signed());
        request.header.parent = TcHandle::ROOT;
        request.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(vec![
                option(TBF_PARAMETERS, parameters),
                option(TBF_RATE64, bytes_per_second.to_ne_bytes().to_vec()),
                option(TBF_BURST, burst.to_ne_bytes().to_vec()),
            ]),
        ];
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        self.ask(RouteNetlinkMessage::NewQueueDiscipline(request), flags).map(drop)
    }
}
