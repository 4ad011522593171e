//! The packets of real hosts in the simulated network. The network carries a header of each packet; the frames are
//! stored here until they arrive or are dropped.

use crate::flow_classifier::{ClassifiedPacket, FlowClassifier};
use crate::flow_monitor::FrameHead;
use crate::host_endpoint::{Head, HostEndpoint, outgoing};
use crate::{addresses, frame, ip};
use shallop_core::{Ecn, End, Packet};
use shallop_proto::Out;

/// A packet that a real host has sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// The end of the flow that sends the packet.
    pub from: End,
    pub host: u32,
    pub head: FrameHead,
    ecn: Ecn,
    ip_bytes: u16,
}

/// A packet that arrives at a real host.
#[derive(Debug)]
pub struct ArrivedPacket {
    pub host: u32,
    pub head: FrameHead,
    /// The frame, with its ECN mark and the Ethernet address of the host.
    pub frame: Vec<u8>,
}

/// The packets of real hosts in the simulated network.
#[derive(Debug, Default)]
pub struct HostPackets {
    classifier: FlowClassifier,
    frames: Vec<Option<Vec<u8>>>,
    free: Vec<u32>,
    uses_legacy_classes: bool,
}

impl HostPackets {
    /// Creates an empty network; see [`outgoing`] for `uses_legacy_classes`.
    pub fn new(uses_legacy_classes: bool) -> Self {
        Self { uses_legacy_classes, ..Self::default() }
    }

    pub fn count(&self) -> usize {
        self.frames.len() - self.free.len()
    }

    /// Registers a flow that starts, so that its packets are found.
    pub fn start<E>(&mut self, flow: u32, sender: &HostEndpoint<E>) {
        self.classifier.start(flow, sender);
    }

    /// Finds the flow of a frame; `None` if the frame belongs to no flow.
    pub fn classify(&mut self, frame: &[u8]) -> Option<ClassifiedPacket> {
        self.classifier.classify(frame)
    }

    /// Stores the frame of a classified packet.
    pub fn insert(&mut self, packet: &ClassifiedPacket, frame: Vec<u8>) -> SentPacket {
        let ClassifiedPacket { segment, from, connection, host } = packet;
        let head = FrameHead::new(self.store(frame), *connection, segment);
        SentPacket { from: *from, host: *host, head, ecn: segment.ecn, ip_bytes: segment.ip_bytes }
    }

    /// Makes the simulated packet that stands for a packet of a real host.
    pub fn outgoing<H>(&self, packet: &SentPacket) -> Out<Head<H>> {
        outgoing(packet.head, packet.ecn, packet.ip_bytes, self.uses_legacy_classes)
    }

    /// Takes a packet that arrives at one of `hosts` real hosts out of the network; `None` for simulated packets.
    pub fn deliver<H>(&mut self, packet: &Packet<Head<H>>, hosts: usize) -> Option<ArrivedPacket> {
        let Head::Frame(head) = packet.cargo else { return None };
        let mut frame = self.remove(head.slot)?;
        if packet.envelope.ecn == Ecn::Ce {
            ip::mark(&mut frame);
        }
        let host = frame::addresses(&frame).and_then(|(_, to)| addresses::host_of(to));
        let host = host.filter(|&host| (host as usize) < hosts)?;
        frame::set_destination(&mut frame, addresses::mac(host));
        Some(ArrivedPacket { host, head, frame })
    }

    /// Forgets the frame of a packet that the network dropped.
    pub fn drop<H>(&mut self, head: &Head<H>) {
        if let Head::Frame(head) = head {
            self.remove(head.slot);
        }
    }

    /// Copies the frame of a packet that the network duplicated, whose head then refers to the copy. False if the frame
    /// does not exist.
    pub fn duplicate<H>(&mut self, head: &mut Head<H>) -> bool {
        let Head::Frame(head) = head else { return true };
        let Some(Some(frame)) = self.frames.get(head.slot as usize) else { return false };
        head.slot = self.store(frame.clone());
        true
    }

    fn store(&mut self, frame: Vec<u8>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.frames[slot as usize] = Some(frame);
            return slot;
        }
        self.frames.push(Some(frame));
        self.frames.len() as u32 - 1
    }

    fn remove(&mut self, slot: u32) -> Option<Vec<u8>> {
        let frame = self.frames.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(frame)
    }
}
