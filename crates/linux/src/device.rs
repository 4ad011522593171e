//! Queue disciplines and filters of a network device (`rtnetlink(7)`), in the network namespace of this thread. BPF
//! programs are attached to a device as filters.

use crate::netlink::Interfaces;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkLayerType};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use shallop_core::{BitsPerSec, Bytes};
use std::io;

/// The queue discipline to which programs are attached as filters.
const CLSACT: &str = "clsact";
/// The handle of `clsact` (`TC_H_CLSACT` of `linux/pkt_sched.h`).
const CLSACT_PARENT: TcHandle = TcHandle { major: 0xffff, minor: 0xfff1 };
/// The parents of filters for arriving and leaving packets (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
const DIRECTIONS: [TcHandle; 2] =
    [TcHandle { major: 0xffff, minor: 0xfff2 }, TcHandle { major: 0xffff, minor: 0xfff3 }];
/// The burst of a shaper, in bytes: one segmentation-offload packet.
const BURST: u32 = 1 << 16;

pub struct Device {
    interfaces: Interfaces,
    pub index: u32,
    /// Bytes of the link-layer header: 14 with Ethernet, 0 for devices that carry IP packets alone.
    pub link_header: u32,
    pub is_up: bool,
}

impl Device {
    /// Opens the device with this name.
    ///
    /// # Errors
    /// If it does not exist, or its link layer is neither Ethernet nor IP.
    pub fn named(name: &str) -> io::Result<Self> {
        let mut interfaces = Interfaces::here()?;
        let link = interfaces.link(name)?;
        let link_header = match link.header.link_layer_type {
            LinkLayerType::Ether | LinkLayerType::Loopback => 14,
            LinkLayerType::None | LinkLayerType::Rawip | LinkLayerType::Ppp => 0,
            other => {
                return Err(io::Error::other(format!(
                    "frames of \"{name}\" are of {other:?}, neither of Ethernet nor of IP alone"
                )));
            }
        };
        let is_up = link.header.flags.contains(LinkFlags::Up);
        Ok(Self { interfaces, index: link.header.index, link_header, is_up })
    }

    fn message(&self, parent: TcHandle) -> TcMessage {
        let mut message = TcMessage::with_index(self.index.cast_signed());
        message.header.parent = parent;
        message
    }

    fn queue_disciplines(&mut self) -> io::Result<Vec<TcMessage>> {
        let request = RouteNetlinkMessage::GetQueueDiscipline(self.message(TcHandle::UNSPEC));
        let answers = self.interfaces.ask(request, NLM_F_DUMP)?;
        let of = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(of) => Some(of),
            _ => None,
        });
        let index = self.index.cast_signed();
        Ok(of.filter(|of| of.header.index == index).collect())
    }

    /// Whether the device has the queue discipline `clsact`.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn has_clsact(&mut self) -> io::Result<bool> {
        let all = self.queue_disciplines()?;
        Ok(all.iter().any(|of| kind(of) == Some(CLSACT)))
    }

    /// Removes `clsact` unless a program is attached to it. Returns whether the device is without `clsact`.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn remove_unused_clsact(&mut self) -> io::Result<bool> {
        if !self.has_clsact()? {
            return Ok(true);
        }
        for direction in DIRECTIONS {
            let request = RouteNetlinkMessage::GetTrafficFilter(self.message(direction));
            let answers = self.interfaces.ask(request, NLM_F_DUMP)?;
            let index = self.index.cast_signed();
            let is_filter = |of: &RouteNetlinkMessage| match of {
                RouteNetlinkMessage::NewTrafficFilter(of) => of.header.index == index,
                _ => false,
            };
            if answers.iter().any(is_filter) {
                return Ok(false);
            }
        }
        let mut request = self.message(CLSACT_PARENT);
        request.header.handle = TcHandle { major: 0xffff, minor: 0 };
        request.attributes = vec![TcAttribute::Kind(CLSACT.to_owned())];
        self.interfaces.ask(RouteNetlinkMessage::DelQueueDiscipline(request), 0)?;
        Ok(true)
    }

    /// The name of the root queue discipline; `None` for the kernel's default.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn root(&mut self) -> io::Result<Option<String>> {
        let all = self.queue_disciplines()?;
        let is_root = |of: &&TcMessage| of.header.parent == TcHandle::ROOT && of.header.handle != TcHandle::UNSPEC;
        Ok(all.iter().find(is_root).and_then(kind).map(str::to_owned))
    }

    /// Makes a shaper the root queue discipline (`tc-tbf(8)`), with a queue of `buffer` bytes.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn shape(&mut self, rate: BitsPerSec, buffer: Bytes) -> io::Result<()> {
        let limit = u32::try_from(buffer.get()).unwrap_or(u32::MAX);
        self.interfaces.shape(self.index, rate.get() / 8, BURST, limit)
    }

    /// Removes the shaper from the root, if there is one.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn unshape(&mut self) -> io::Result<()> {
        if self.root()?.as_deref() != Some("tbf") {
            return Ok(());
        }
        let request = self.message(TcHandle::ROOT);
        self.interfaces.ask(RouteNetlinkMessage::DelQueueDiscipline(request), 0).map(drop)
    }
}

fn kind(of: &TcMessage) -> Option<&str> {
    of.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.as_str()),
        _ => None,
    })
}
