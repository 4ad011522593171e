//! The sending side of a link: sends packets at the rate of the link, counts them, and puts them on the wire.

use crate::{impairment::Impairment, wire::Wire};
use shallop_core::{BitsPerSec, Class, Pace, Packet, Probe, Span, Time};

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter<C> {
    pub wire: Wire<C>,
    /// Time at which the link has sent the last bit of all dequeued packets.
    pub free_at: Time,
    pub pace: Pace,
    /// Bytes sent, including preamble and inter-frame gap.
    pub bytes: u64,
    /// Packets sent, by class.
    pub sent: [u64; Class::COUNT],
    /// Number of the port in reports to the probe.
    pub number: u32,
}

impl<C: Copy> Transmitter<C> {
    pub fn new(number: u32, rate: BitsPerSec, delay: Span, impairment: Option<Impairment>) -> Self {
        Self {
            free_at: Time::ZERO,
            number,
            wire: Wire::new(delay, impairment),
            pace: Pace::new(rate),
            sent: [0; Class::COUNT],
            bytes: 0,
        }
    }

    /// Sends a packet whose first bit leaves at `start`.
    #[inline]
    pub fn transmit(&mut self, start: Time, packet: &Packet<C>, probe: &mut impl Probe) {
        self.free_at = start + self.pace.charge(packet.envelope.bytes());
        self.sent[packet.envelope.class.index()] += 1;
        self.bytes += u64::from(packet.envelope.size);
        probe.on_send(start, self.number, &packet.envelope);
        self.wire.push(self.free_at, packet);
    }

    /// Sends packets as one frame that begins at `start` and arrives as a whole. The frame takes `overhead` in addition
    /// to the serialisation time of its bytes.
    pub fn transmit_frame(&mut self, start: Time, overhead: Span, packets: &[Packet<C>], probe: &mut impl Probe) {
        self.free_at = start + overhead;
        for packet in packets {
            self.free_at += self.pace.charge(packet.envelope.bytes());
            self.sent[packet.envelope.class.index()] += 1;
            self.bytes += u64::from(packet.envelope.size);
            probe.on_send(start, self.number, &packet.envelope);
        }
        for packet in packets {
            self.wire.push(self.free_at, packet);
        }
    }
}
