//! The device side of a kernel's network card (vhost-user). It answers the kernel's requests, takes the frames that the
//! kernel sends, and gives it frames that arrive. The card has no clock: its owner decides when frames move and when
//! the kernel is interrupted.
//!
//! State: the socket of requests, the channel of calls (interrupts), the kernel's shared memory, and two rings.

use crate::error::{KernelError, Malformed};
use crate::ring::Ring;
use crate::vhost_user::{self, HEADER_BYTES, Header, Region, Request};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use shallop_hosts::frame;
use std::io::{Read, Write};
use std::{os::fd::OwnedFd, os::unix::net::UnixStream};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// Bytes of the virtio header before each frame (`struct virtio_net_hdr_v1`).
const VIRTIO_HEADER: usize = 12;
/// The card cuts the frame into TCP segments over IPv4 (`VIRTIO_NET_HDR_GSO_TCPV4`).
const TCP_SEGMENTS: u8 = 1;
/// The frame has the CWR flag (`VIRTIO_NET_HDR_GSO_ECN`).
const WITH_ECN: u8 = 0x80;
/// The checksum of the frame is already verified (`VIRTIO_NET_HDR_F_DATA_VALID`).
const CHECKSUM_VALID: u8 = 2;
const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;

#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    Answered,
    /// The kernel has frames in the transmit ring, and waits for [`Card::acknowledge`].
    Kicked,
    Closed,
}

/// A frame that the kernel sends, as packets on the wire.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    /// The head of the descriptor chain, which goes back to the kernel when the frame is sent.
    pub head: u16,
    /// The packets: one, or several if the card has cut the frame.
    pub packets: Vec<Vec<u8>>,
}

/// A vhost-user request with its payload and its file descriptors.
type Received = (Header, Vec<u8>, Vec<OwnedFd>);

#[derive(Debug)]
pub struct Card {
    socket: UnixStream,
    calls: Option<UnixStream>,
    memory: GuestMemoryMmap,
    rings: [Ring; 2],
    mac: [u8; 6],
    features: u64,
    /// The header of the kernel's kick that has no answer yet.
    kick: Option<Header>,
}

impl Card {
    /// Creates a card with an Ethernet address, behind a socket that the kernel has connected.
    ///
    /// # Errors
    /// Never in practice, because the rings have a valid size.
    pub fn new(socket: UnixStream, mac: [u8; 6], segmentation: bool) -> Result<Self, Malformed> {
        let offload = if segmentation { vhost_user::SEGMENTATION_OFFLOAD } else { 0 };
        let features = vhost_user::BASIC_FEATURES | vhost_user::CHECKSUM_OFFLOAD | offload;
        let rings = [Ring::new()?, Ring::new()?];
        let memory = GuestMemoryMmap::new();
        Ok(Self { socket, calls: None, memory, rings, mac, features, kick: None })
    }

    /// Reads and serves a request.
    ///
    /// # Errors
    /// [`CardError::Malformed`] for a malformed request, and errors of the socket.
    pub fn serve(&mut self) -> Result<Served, CardError> {
        let Some((header, payload, files)) = self.receive()? else { return Ok(Served::Closed) };
        let request = Request::decode(&header, &payload)?;
        let reply = match request {
            Request::GetFeatures => Some(header.reply(&self.features.to_ne_bytes())),
            Request::GetProtocolFeatures => Some(header.reply(&vhost_user::protocol_features())),
            Request::GetConfig(offset, bytes) => {
                Some(header.reply(&vhost_user::config_reply(&payload, self.mac, offset, bytes)))
            }
            Request::Kick(queue) => {
                self.kick = header.needs_reply().then_some(header);
                if queue == TRANSMIT {
                    return Ok(Served::Kicked);
                }
                self.acknowledge()?;
                return Ok(Served::Answered);
            }
            other => {
                self.configure(&header, other, files)?;
                header.needs_reply().then(|| header.reply(&0_u64.to_ne_bytes()))
            }
        };
        if let Some(reply) = reply {
            self.socket.write_all(&reply)?;
        }
        Ok(Served::Answered)
    }

    /// Answers the kernel's last kick, so that the kernel continues.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn acknowledge(&mut self) -> Result<(), CardError> {
        match self.kick.take() {
            Some(header) => Ok(self.socket.write_all(&header.reply(&0_u64.to_ne_bytes()))?),
            None => Ok(()),
        }
    }

    /// Receives the next request; `None` if the kernel has closed the socket.
    fn receive(&mut self) -> Result<Option<Received>, CardError> {
        let mut bytes = [0; HEADER_BYTES];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let into = &mut [std::io::IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.socket, into, &mut beside, flags) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                other => break other?.bytes,
            }
        };
        if got == 0 {
            return Ok(None);
        }
        self.socket.read_exact(&mut bytes[got..])?;
        let header = Header::decode(bytes)?;
        let mut payload = vec![0; header.length as usize];
        self.socket.read_exact(&mut payload)?;
        let files = beside.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        Ok(Some((header, payload, files.collect())))
    }

    fn configure(&mut self, header: &Header, request: Request, files: Vec<OwnedFd>) -> Result<(), CardError> {
        match request {
            Request::SetMemory(regions) => self.memory = map(header, &regions, files)?,
            Request::SetRingSize(queue, size) => self.rings[queue].set_size(size),
            Request::SetRingBase(queue, next) => self.rings[queue].next = next,
            Request::SetRingAddresses(queue, at) => self.rings[queue].set_addresses(at),
            Request::EnableRing(queue, on) => {
                self.rings[queue].enable(on, queue == TRANSMIT, &self.memory)?;
            }
            Request::SetDeviceChannel => {
                let channel = files.into_iter().next();
                self.calls = Some(channel.ok_or(Malformed::NoFile(header.request))?.into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the next frame from the transmit ring.
    ///
    /// # Errors
    /// If the frame is outside of the kernel's memory, or malformed.
    pub fn take(&mut self) -> Result<Option<Sent>, Malformed> {
        let mut bytes = Vec::with_capacity(2_048);
        let limit = VIRTIO_HEADER + frame::MAX_FRAME;
        let Some(head) = self.rings[TRANSMIT].read(&self.memory, &mut bytes, limit)? else {
            return Ok(None);
        };
        if bytes.len() < VIRTIO_HEADER {
            return Err(Malformed::Frame(bytes.len()));
        }
        let frame = bytes.split_off(VIRTIO_HEADER);
        let packets = if bytes[1] & !WITH_ECN == TCP_SEGMENTS {
            frame::cut(&frame, u16::from_le_bytes([bytes[4], bytes[5]])).ok_or(Malformed::Frame(frame.len()))?
        } else if frame.len() > frame::MAX_PACKET {
            return Err(Malformed::Frame(frame.len()));
        } else {
            vec![frame]
        };
        Ok(Some(Sent { head, packets }))
    }

    /// Returns the buffers of a sent frame to the kernel.
    ///
    /// # Errors
    /// If the ring is outside of the kernel's memory.
    pub fn complete(&mut self, head: u16) -> Result<(), Malformed> {
        self.rings[TRANSMIT].used(&self.memory, head, 0)
    }

    /// Puts an arrived frame into the receive ring. False if the ring has no buffer; the frame is then lost, as in a
    /// real card.
    ///
    /// # Errors
    /// If the buffer is outside of the kernel's memory.
    pub fn give(&mut self, frame: &[u8]) -> Result<bool, Malformed> {
        let mut header = [0; VIRTIO_HEADER];
        (header[0], header[10]) = (CHECKSUM_VALID, 1);
        self.rings[RECEIVE].write(&self.memory, [&header, frame])
    }

    /// Makes the calls (interrupts) for used buffers in the pending queues (receive, transmit), except for queues whose
    /// interrupts the kernel has disabled. The last call asks for an answer.
    ///
    /// # Errors
    /// If a ring is outside of the kernel's memory.
    pub fn calls(&self, pending: [bool; 2]) -> Result<Vec<u8>, Malformed> {
        let mut wanted = Vec::with_capacity(2);
        for (queue, ring) in self.rings.iter().enumerate() {
            if pending[queue] && ring.wants_call(&self.memory)? {
                wanted.push(queue);
            }
        }
        let last = wanted.last().copied();
        let call = |&queue: &usize| vhost_user::vring_call(queue as u32, Some(queue) == last);
        Ok(wanted.iter().flat_map(call).collect())
    }

    /// The channel of calls, once the kernel has opened it.
    pub fn channel(&self) -> Option<&UnixStream> {
        self.calls.as_ref()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The kernel sent a malformed request.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The kernel's memory could not be mapped.
    #[error("{0}")]
    Memory(String),
    #[error(transparent)]
    Socket(#[from] std::io::Error),
}

impl From<rustix::io::Errno> for CardError {
    fn from(why: rustix::io::Errno) -> Self {
        Self::Socket(why.into())
    }
}

impl CardError {
    /// Makes the error of a run, which names the kernel by its number.
    pub fn with_kernel(self, kernel: usize) -> KernelError {
        match self {
            Self::Malformed(why) => KernelError::Malformed { kernel, why },
            Self::Memory(why) => KernelError::Memory(why),
            Self::Socket(why) => KernelError::Io { what: "a card's socket", why },
        }
    }
}

fn map(header: &Header, regions: &[Region], files: Vec<OwnedFd>) -> Result<GuestMemoryMmap, CardError> {
    if files.len() < regions.len() {
        return Err(Malformed::NoFile(header.request).into());
    }
    let memory = |why: &dyn std::fmt::Display| CardError::Memory(why.to_string());
    let mut mapped = Vec::new();
    for (region, file) in regions.iter().zip(files) {
        let file = std::fs::File::from(file);
        // Access to memory beyond the end of its file would kill this process (SIGBUS).
        let whole = file.metadata()?.len();
        if region.offset.checked_add(region.bytes).is_none_or(|end| end > whole) {
            return Err(memory(&"a region beyond the end of its file"));
        }
        let file = FileOffset::new(file, region.offset);
        let bytes = usize::try_from(region.bytes).map_err(|why| memory(&why))?;
        let part = MmapRegion::from_file(file, bytes).map_err(|why| memory(&why))?;
        let part = GuestRegionMmap::new(part, GuestAddress(region.address));
        mapped.push(part.ok_or_else(|| memory(&"a region beyond the end of addresses"))?);
    }
    mapped.sort_by_key(|part| vm_memory::GuestMemoryRegion::start_addr(part).0);
    GuestMemoryMmap::from_regions(mapped).map_err(|why| memory(&why))
}
