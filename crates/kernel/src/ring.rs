//! One virtqueue of a virtual network card, in memory that the kernel shares. The crate `virtio-queue` reads the
//! descriptors and checks that they lie in that memory and that chains end.

use crate::error::Malformed;
use std::sync::atomic::Ordering;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// The largest number of descriptors of a ring.
const MAX_SIZE: u16 = 32_768;
/// The flag by which the kernel switches off calls (`VRING_AVAIL_F_NO_INTERRUPT`).
const NO_INTERRUPT: u16 = 1;

#[derive(Debug)]
pub struct Ring {
    queue: Queue,
    size: u16,
    pub next: u16,
    addresses: [u64; 3],
}

impl Ring {
    /// A ring that is not set up.
    ///
    /// # Errors
    /// Never: the size is a power of two.
    pub fn new() -> Result<Self, Malformed> {
        let queue = Queue::new(MAX_SIZE).map_err(|_| Malformed::RingSize(u32::from(MAX_SIZE)))?;
        Ok(Self { queue, size: 0, next: 0, addresses: [0; 3] })
    }

    pub fn set_size(&mut self, size: u16) {
        self.size = size;
    }

    /// Sets the addresses of the descriptors, the used ring and the available ring.
    pub fn set_addresses(&mut self, addresses: [u64; 3]) {
        self.addresses = addresses;
    }

    /// Enables or disables the ring. Without `kicks`, the kernel does not announce new descriptors.
    ///
    /// # Errors
    /// If the ring does not lie in the shared memory.
    pub fn enable(&mut self, on: bool, kicks: bool, memory: &GuestMemoryMmap) -> Result<(), Malformed> {
        let [descriptors, used, available] = self.addresses;
        let wrong = |_| Malformed::Descriptor;
        self.queue.set_size(self.size);
        self.queue.try_set_desc_table_address(GuestAddress(descriptors)).map_err(wrong)?;
        self.queue.try_set_used_ring_address(GuestAddress(used)).map_err(wrong)?;
        self.queue.try_set_avail_ring_address(GuestAddress(available)).map_err(wrong)?;
        self.queue.set_next_avail(self.next);
        self.queue.set_next_used(self.next);
        self.queue.set_ready(on);
        if on && !self.queue.is_valid(memory) {
            return Err(Malformed::Descriptor);
        }
        if on && !kicks {
            self.queue.disable_notification(memory).map_err(|_| Malformed::Descriptor)?;
        }
        Ok(())
    }

    /// Takes the next chain that the kernel has filled, and appends its bytes to `bytes`. Returns the head of the
    /// chain.
    ///
    /// # Errors
    /// If the chain does not lie in the shared memory, or holds more than `limit` bytes.
    pub fn read(
        &mut self, memory: &GuestMemoryMmap, bytes: &mut Vec<u8>, limit: usize,
    ) -> Result<Option<u16>, Malformed> {
        if !self.queue.ready() {
            return Ok(None);
        }
        let mut chains = self.queue.iter(memory).map_err(|_| Malformed::Descriptor)?;
        let Some(chain) = chains.next() else { return Ok(None) };
        let head = chain.head_index();
        for descriptor in chain {
            let (start, more) = (bytes.len(), descriptor.len() as usize);
            if start + more > limit {
                return Err(Malformed::Frame(start + more));
            }
            bytes.resize(start + more, 0);
            let read = memory.read_slice(&mut bytes[start..], descriptor.addr());
            read.map_err(|_| Malformed::Descriptor)?;
        }
        Ok(Some(head))
    }

    /// Writes these bytes into the next chain that the kernel has provided. False if there is none.
    ///
    /// # Errors
    /// If the chain does not lie in the shared memory or is too short.
    pub fn write(&mut self, memory: &GuestMemoryMmap, parts: [&[u8]; 2]) -> Result<bool, Malformed> {
        if !self.queue.ready() {
            return Ok(false);
        }
        let mut chains = self.queue.iter(memory).map_err(|_| Malformed::Descriptor)?;
        let Some(chain) = chains.next() else { return Ok(false) };
        let head = chain.head_index();
        let total = parts[0].len() + parts[1].len();
        let mut done = 0;
        for descriptor in chain {
            let (mut at, mut left) = (descriptor.addr(), descriptor.len() as usize);
            while left > 0 && done < total {
                let rest = parts[0].get(done..).filter(|rest| !rest.is_empty());
                let rest = rest.unwrap_or_else(|| &parts[1][done - parts[0].len()..]);
                let now = rest.len().min(left);
                memory.write_slice(&rest[..now], at).map_err(|_| Malformed::Descriptor)?;
                (done, left, at) = (done + now, left - now, GuestAddress(at.0 + now as u64));
            }
        }
        if done < total {
            return Err(Malformed::Frame(total));
        }
        self.used(memory, head, total as u32)?;
        Ok(true)
    }

    /// Returns a chain to the kernel.
    ///
    /// # Errors
    /// If the used ring does not lie in the shared memory.
    pub fn used(&mut self, memory: &GuestMemoryMmap, head: u16, bytes: u32) -> Result<(), Malformed> {
        self.queue.add_used(memory, head, bytes).map_err(|_| Malformed::Descriptor)
    }

    /// Whether the kernel wants an interrupt (a call) for used buffers.
    ///
    /// # Errors
    /// If the available ring does not lie in the shared memory.
    pub fn wants_call(&self, memory: &GuestMemoryMmap) -> Result<bool, Malformed> {
        let flags = GuestAddress(self.addresses[2]);
        let flags: u16 = memory.load(flags, Ordering::SeqCst).map_err(|_| Malformed::Descriptor)?;
        Ok(flags & NO_INTERRUPT == 0)
    }
}
