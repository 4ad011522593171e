//! What a kernel sends is not trusted: any bytes are an error or a value, never a panic, and never more memory than the
//! limits say.

use proptest::collection::vec;
use proptest::prelude::*;
use shallop_hosts::{frame, ip};
use shallop_kernel::card::{Card, CardError, Served};
use shallop_kernel::process::{Launch, Process};
use shallop_kernel::ring::Ring;
use shallop_kernel::time_travel::{Message, Op};
use shallop_kernel::vhost_user::{HEADER_BYTES, Header, MAX_PAYLOAD, MAX_REGIONS, Request};
use shallop_kernel::{KernelError, Mode};
use shallop_kernel::{clock::Clock, kernel::Kernel};
use std::{io::Write, os::unix::net::UnixStream, path::Path};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Numbers as messages have them: mostly small, and those at which sums overflow.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..64_u64, any::<u64>(), Just(u64::MAX), Just(u64::from(u32::MAX)), Just(1 << 63)]
}

/// A TCP frame whose headers are whole or nearly so: each byte may be another.
fn frame_bytes() -> impl Strategy<Value = Vec<u8>> {
    let whole = (0..3_000_usize, any::<u16>()).prop_map(|(payload, total)| {
        let builder = etherparse::PacketBuilder::ethernet2([2; 6], [2; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1_024, 5_000, 7, 1_000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![1; payload]).unwrap();
        if total.is_multiple_of(4) {
            bytes[16..18].copy_from_slice(&total.to_be_bytes());
        }
        bytes
    });
    let changes = vec((0..80_usize, any::<u8>()), 0..4);
    let damaged = (whole, changes, any::<u16>()).prop_map(|(mut bytes, changes, cut)| {
        for (at, byte) in changes {
            bytes[at % 54] = byte;
        }
        if cut.is_multiple_of(5) {
            bytes.truncate(usize::from(cut / 5) % 80);
        }
        bytes
    });
    prop_oneof![4 => damaged, 1 => vec(any::<u8>(), 0..200)]
}

/// A request as it comes through a socket.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![0..40_u32, any::<u32>()];
    let payload = vec(prop_oneof![3 => number().prop_map(u64::to_ne_bytes), 1 => any::<[u8; 8]>()], 0..40);
    let length = prop_oneof![9 => Just(None), 1 => any::<u32>().prop_map(Some)];
    (known, any::<u32>(), payload, length).prop_map(|(request, flags, payload, length)| {
        let payload = payload.as_flattened();
        let length = length.unwrap_or(payload.len() as u32);
        [[request, flags, length].map(u32::to_ne_bytes).as_flattened(), payload].concat()
    })
}

proptest! {
    #[test]
    fn any_message_of_time_is_an_error_or_itself(bytes: [u8; 16], op in 0..12_u32) {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&op.to_ne_bytes());
        match Message::decode(bytes) {
            Ok(message) => prop_assert_eq!(message.encode(), bytes),
            Err(_) => prop_assert!(op > 9),
        }
    }

    #[test]
    fn any_request_is_an_error_or_within_the_limits(bytes in request()) {
        let (head, payload) = bytes.split_at(HEADER_BYTES);
        let Ok(header) = Header::decode(head.try_into().unwrap()) else { return Ok(()) };
        prop_assert!(header.length as usize <= MAX_PAYLOAD);
        let payload = &payload[..payload.len().min(header.length as usize)];
        match Request::decode(&header, payload) {
            Ok(Request::SetMemory(regions)) => prop_assert!(regions.len() <= MAX_REGIONS),
            Ok(Request::GetConfig(_, bytes)) => prop_assert!(bytes as usize <= payload.len()),
            Ok(Request::SetRingSize(queue, _) | Request::Kick(queue)) => prop_assert!(queue < 2),
            _ => {}
        }
    }

    #[test]
    fn any_frame_is_read_marked_and_cut_or_refused(bytes in frame_bytes(), size: u16) {
        let segment = frame::segment(&bytes);
        prop_assert!(segment.is_none_or(|s| usize::from(s.ip_bytes) + frame::ETHERNET <= bytes.len()));
        let mut marked = bytes.clone();
        ip::mark(&mut marked);
        prop_assert_eq!(marked.len(), bytes.len());
        if let Some(parts) = frame::cut(&bytes, size % 1_600) {
            let payload = |bytes: &[u8]| frame::segment(bytes).map_or(0, |segment| segment.payload);
            prop_assert_eq!(parts.iter().map(|part| payload(part)).sum::<u32>(), payload(&bytes));
            prop_assert!(parts.iter().all(|part| part.len() <= frame::MAX_PACKET));
        }
    }

    #[test]
    fn any_ring_is_read_and_written_or_refused(
        words in vec(any::<u16>(), 256),
        near in vec((0..0x500_u64, 0..512_u32, 0..8_u16, 0..20_u16), 16),
        addresses in (number(), number(), number()),
        in_place in prop::bool::weighted(0.8),
        available in 0..40_u16,
    ) {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x4000)]).unwrap();
        for (index, word) in words.iter().enumerate() {
            memory.write_obj(*word, GuestAddress(0x600 + 2 * index as u64)).unwrap();
        }
        for (index, (address, length, flags, next)) in near.into_iter().enumerate() {
            let at = GuestAddress(16 * index as u64);
            memory.write_obj(address, at).unwrap();
            memory.write_obj(length, GuestAddress(at.0 + 8)).unwrap();
            memory.write_obj(flags, GuestAddress(at.0 + 12)).unwrap();
            memory.write_obj(next, GuestAddress(at.0 + 14)).unwrap();
        }
        memory.write_obj(available, GuestAddress(0x602)).unwrap();
        let (descriptors, used, ring) = if in_place { (0, 0x1000, 0x600) } else { addresses };
        check_ring(&memory, [descriptors, used, ring])?;
    }

    #[test]
    fn a_card_survives_any_requests(requests in vec(request(), 1..8)) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&requests.concat()).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let mut card = Card::new(ours, [2; 6], true).unwrap();
        // Each request is answered, or ends the card.
        for _ in 0..=requests.len() * 40 {
            match card.serve() {
                Ok(Served::Closed) | Err(_) => return Ok(()),
                Ok(_) => drop((card.take(), card.give(&[0; 60]), card.calls([true; 2]))),
            }
        }
        prop_assert!(false, "a card without end");
    }
}

fn check_ring(memory: &GuestMemoryMmap, addresses: [u64; 3]) -> Result<(), TestCaseError> {
    const LIMIT: usize = 1_000;
    let mut ring = Ring::new().unwrap();
    ring.set_size(16);
    ring.set_addresses(addresses);
    if ring.enable(true, true, memory).is_err() {
        return Ok(());
    }
    // Whether it is refused depends on its bytes; that it ends, and takes no more than it may, does not.
    for _ in 0..20 {
        let mut bytes = Vec::new();
        let read = ring.read(memory, &mut bytes, LIMIT);
        prop_assert!(bytes.len() <= LIMIT);
        if let Ok(Some(head)) = read {
            let _ = ring.used(memory, head, 0);
        }
        let _ = ring.write(memory, [&[0; 12], &[1; 100]]);
        let _ = ring.wants_call(memory);
    }
    Ok(())
}

fn waiting() -> Process {
    let arguments = ["1000".to_owned()];
    let (program, folder) = (Path::new("/bin/sleep"), Path::new("/"));
    let preload = Path::new("");
    Process::start(&Launch { program, preload, folder, seed: 1, arguments: &arguments }).unwrap()
}

/// A kernel without cards that has said these bytes and nothing more.
fn kernel(said: &[u8]) -> (Result<Kernel, KernelError>, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(said).unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    (Kernel::new(0, waiting(), ours, vec![], true, 30), theirs)
}

fn message(op: Op, time: u64) -> [u8; 16] {
    Message { op, sequence: 1, time }.encode()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_kernel_that_sends_anything_ends_with_an_error(
        said in vec((0..11_u32, any::<u32>(), number()), 0..30),
        mode in prop::sample::select(vec![Mode::Plain, Mode::FreeUntil, Mode::Shared]),
        rest in vec(any::<u8>(), 0..16),
    ) {
        let mut bytes = message(Op::Start, 1).to_vec();
        for (op, sequence, time) in said {
            bytes.extend_from_slice([op, sequence].map(u32::to_ne_bytes).as_flattened());
            bytes.extend_from_slice(&time.to_ne_bytes());
        }
        bytes.extend_from_slice(&rest);
        let (kernel, _socket) = kernel(&bytes);
        let (mut kernel, mut clock) = (kernel.unwrap(), Clock::new(mode, 1).unwrap());
        let ended = (0..100).any(|_| kernel.run(&mut clock, 1_000).is_err());
        prop_assert!(ended);
    }
}

#[test]
fn a_kernel_must_begin_with_its_number() {
    for said in [&message(Op::Start, 2)[..], &message(Op::Run, 1), &[7; 16], &[0; 5], &[]] {
        let refused = kernel(said).0.unwrap_err();
        assert!(matches!(refused, KernelError::Malformed { .. } | KernelError::Ended { .. }));
    }
    assert!(kernel(&message(Op::Start, 1)).0.is_ok());
}

/// A table of one region of this many bytes, whose file has 4,096.
fn with_memory(bytes: u64) -> Result<Served, CardError> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let file = rustix::fs::memfd_create("memory", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 4_096).unwrap();
    let table: Vec<u8> = [1, 0, bytes, 0, 0].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
    let header = [5, 1, table.len() as u32].map(u32::to_ne_bytes);
    let request = [header.as_flattened(), &table[..]].concat();
    let files = [std::os::fd::AsFd::as_fd(&file)];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = rustix::net::SendAncillaryBuffer::new(&mut space);
    assert!(beside.push(rustix::net::SendAncillaryMessage::ScmRights(&files)));
    let parts = [std::io::IoSlice::new(&request)];
    rustix::net::sendmsg(&theirs, &parts, &mut beside, rustix::net::SendFlags::empty()).unwrap();
    Card::new(ours, [2; 6], true).unwrap().serve()
}

#[test]
fn memory_beyond_the_end_of_its_file_is_refused() {
    assert!(matches!(with_memory(4_096), Ok(Served::Answered)));
    for bytes in [0, 8_192, 1 << 40, u64::MAX] {
        assert!(matches!(with_memory(bytes), Err(CardError::Memory(_))), "{bytes}");
    }
}
