//! Switching chips and routers: their ports, rates and packet buffers, as listed by two papers, a thesis, and public
//! reviews. What no public source states is unknown: a chip of unknown memory has ports and rates, and no buffer.
//!
//! The tables write KB and MB without a definition. Their figures per port follow from the totals in units of 1024 for
//! all chips but the Tofino, whose 344KB is 22 MB of 10^6 bytes over 64 ports. Buffers are given here in bytes.

use shallop_core::{BitsPerSec, Bytes};

#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// The chip's name in scenarios, such as `trident2`.
    pub id: &'static str,
    pub name: &'static str,
    pub vendor: &'static str,
    /// The sum of the rates of all ports.
    pub capacity: BitsPerSec,
    pub ports: u32,
    pub port_rate: BitsPerSec,
    /// The packet buffer of all ports together; `None` if no public source states it.
    pub buffer: Option<Bytes>,
    /// Source of the chip's figures, and assumptions that the source does not state.
    pub note: &'static str,
    /// How the queues of the chip share its packet memory; `None` if no public source states it.
    pub memory: Option<Mmu>,
}

/// Packet memory in equal parts (MMUs), each of which serves some of the ports. In a part, each queue has private
/// bytes, and all queues share the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Mmu {
    /// Alpha of Dynamic Thresholds for lossy queues, as a vendor of switches with this chip ships it.
    pub alpha: f64,
    /// Source of `alpha`, and assumptions that the source does not state.
    pub alpha_note: &'static str,
    /// The number of MMUs in the chip: parts of equal size into which its packet memory is divided.
    pub count: u32,
    /// Bytes that each queue has for itself. A port has one queue for data.
    pub private: Bytes,
    /// Size of a memory cell; a packet occupies whole cells. `None` if no source states it.
    pub cell: Option<Bytes>,
    /// Source of the memory's figures, and assumptions that the source does not state.
    pub note: &'static str,
}

impl Chip {
    /// The buffer for each Gb/s of capacity, rounded down to bytes.
    pub fn buffer_per_gbps(&self) -> Option<Bytes> {
        let gbps = self.capacity.get() / 1_000_000_000;
        self.buffer.map(|buffer| Bytes::new(buffer.get() / gbps))
    }

    pub fn ports_per_mmu(&self) -> Option<u32> {
        self.memory.as_ref().map(|memory| self.ports / memory.count)
    }

    /// Bytes that all queues of one MMU share: its memory less the private bytes of its queues.
    pub fn pool(&self) -> Option<Bytes> {
        let (memory, buffer) = (self.memory.as_ref()?, self.buffer?);
        let private = memory.private * u64::from(self.ports / memory.count);
        Some(Bytes::new(buffer.get() / u64::from(memory.count)).saturating_sub(private))
    }

    /// The chip's buffer divided by its number of ports, rounded down to bytes.
    pub fn buffer_per_port(&self) -> Option<Bytes> {
        self.buffer.map(|buffer| Bytes::new(buffer.get() / u64::from(self.ports)))
    }
}

const MIB: u64 = 1 << 20;
const BROADCOM: &str = "Broadcom";
const BAREFOOT: &str = "Barefoot (Intel)";
const ARISTA: &str = "Arista";
const NVIDIA: &str = "NVIDIA (Mellanox)";
/// A note on a chip whose memory the source states in MB, which are taken as 2^20 B.
macro_rules! mib {
    ($source:literal) => {
        concat!($source, "; assumed: MB of 2^20 B")
    };
}

/// A note on an alpha that a folder of devices of `SONiC` states as 2^`dynamic_th`.
macro_rules! sonic {
    ($folder:literal, $exponent:literal) => {
        concat!("SONiC, device/", $folder, ": dynamic_th ", $exponent, " of egress_lossy_profile")
    };
}

const FLASHPASS: &str = mib!("FlashPass (ICNP 2021), Table I");
const BOTH: &str = mib!("FlashPass (ICNP 2021), Table I; BCC, Table I");
const SPECTRUM2: &str = "J. Pietsch, 2020 High Speed Ethernet ASICs; assumed: MB of 2^20 B";
const ROUTER: &str = "Gemini (thesis), Table 3.1; assumed: an even share for each port, GB of 10^9 B";
const BCM56538: &str = mib!("BCC, Table I; in the Arista 7010T (Gemini, Table 3.1)");
const TOMAHAWK: &str = mib!("BCC, Table I: four cores, 4 MB and eight ports each");
const TOFINO: &str = "FlashPass (ICNP 2021), Table I; BCC, Table I; assumed: MB of 10^6 B";
const TOMAHAWK2: &str = mib!("port-buffers.forwardingplane.net, Tomahawk 2: 42 MB for 6.4 Tb/s");
const TOMAHAWK3: &str =
    mib!("ports: Linley Newsletter, 26 December 2017; 64 MB: J. Pietsch, 2020 High Speed Ethernet ASICs");
const TOMAHAWK4: &str = "ports: Linley Newsletter, 17 December 2019; its memory is not stated there, nor in any \
                         source that we found";
const TOMAHAWK5: &str = "ports: TechInsights, Tomahawk 5 Switches At 51.2Tbps; its memory is not stated there, nor \
                         in any source that we found";
const JERICHO2: &str = "ports: Linley Newsletter, 13 March 2018; 8 GB of HBM beside the chip: J. Warner (UC Santa \
                        Cruz), Arista 7280R3; assumed: an even share for each port, GB of 10^9 B";
const JERICHO2C: &str = "half the bandwidth of Jericho2: Microprocessor Report, 14 September 2020; assumed: ports of \
                         100 Gb/s; its memory is not stated there";
const SPECTRUM: &str = "J. Warner (UC Santa Cruz), Mellanox Spectrum: 16 MB in one pool; assumed: MB of 2^20 B";
const SPECTRUM4: &str = "ports: Linley Newsletter, 12 April 2022: fully shared; sources differ on how much";

const QUARTER: &str = "assumed: one part, a quarter of it private, as much for each port, as in BCC's Tomahawk";
const MMUS: &str = "BCC, II.C, III.C and V.B: four parts of 4 MB, about 1 MB of each reserved, 128 KB for each port; \
                    assumed: all of that is private; cells of 208 B";
const ONE_POOL: &str = "SONiC's file of the device: one pool for all ports; assumed: one part, a quarter of it \
                        private, as much for each port, as in BCC's Tomahawk";
/// An alpha that no public source states.
const UNKNOWN: Alpha = (1.0, "assumed: no public source states it; one queue may hold half of a pool");
const S6000: Alpha = (8.0, sonic!("dell/x86_64-dell_s6000_s1220-r0", "3"));
const S5232F: Alpha = (
    8.0,
    concat!(
        sonic!("dell/x86_64-dellemc_s5232f_c3538-r0", "3"),
        "; arista/x86_64-arista_7050cx3_32s has -1: an alpha of 0.5"
    ),
);
const A7060CX: Alpha = (8.0, sonic!("arista/x86_64-arista_7060_cx32s", "3"));
const Z9264F: Alpha = (8.0, sonic!("dell/x86_64-dellemc_z9264f_c3538-r0", "3"));
const Z9332F: Alpha = (2.0, sonic!("dell/x86_64-dellemc_z9332f_d1508-r0", "1"));
const WEDGE100BF: Alpha = (8.0, sonic!("barefoot/x86_64-accton_wedge100bf_32x-r0", "3"));
const AS9516: Alpha = (8.0, sonic!("barefoot/x86_64-accton_as9516_32d-r0", "3"));
const SN2700: Alpha = (8.0, "SONiC, device/mellanox/x86_64-mlnx_msn2700-r0: dynamic_th 3 of q_lossy_profile");
const SN3700: Alpha = (8.0, "SONiC, device/mellanox/x86_64-mlnx_msn3700-r0: dynamic_th 3 of q_lossy_profile");
const SN4700: Alpha = (8.0, "SONiC, device/mellanox/x86_64-mlnx_msn4700-r0: dynamic_th 3 of q_lossy_profile");

/// An alpha of Dynamic Thresholds, and its source.
type Alpha = (f64, &'static str);

/// The cell size of the Trident and Tomahawk families, which no paper states.
const CELL: Option<Bytes> = Some(Bytes::new(208));

/// Makes a chip with `ports` ports of `gbps` Gb/s and `buffer` bytes of packet memory.
const fn chip(
    names: (&'static str, &'static str, &'static str), ports: u32, gbps: u64, buffer: u64, note: &'static str,
) -> Chip {
    let (id, name, vendor) = names;
    let capacity = BitsPerSec::gbps(gbps * ports as u64);
    let (port_rate, buffer) = (BitsPerSec::gbps(gbps), Some(Bytes::new(buffer)));
    Chip { id, name, vendor, capacity, ports, port_rate, buffer, note, memory: None }
}

/// Makes a chip whose packet memory no public source states.
const fn unknown(names: (&'static str, &'static str, &'static str), ports: u32, gbps: u64, note: &'static str) -> Chip {
    let mut chip = chip(names, ports, gbps, 0, note);
    chip.buffer = None;
    chip
}

/// Gives a chip its packet memory as one MMU, a quarter of it private to queues.
const fn one(mut chip: Chip, cell: Option<Bytes>, (alpha, alpha_note): Alpha) -> Chip {
    let buffer = match chip.buffer {
        Some(buffer) => buffer.get(),
        None => 0,
    };
    let private = Bytes::new(buffer / chip.ports as u64 / 4);
    chip.memory = Some(Mmu { alpha, alpha_note, count: 1, private, cell, note: QUARTER });
    chip
}

/// As [`one`], for a chip of which `SONiC` has one pool for all ports.
const fn one_pool(chip: Chip, alpha: Alpha) -> Chip {
    let mut chip = one(chip, None, alpha);
    if let Some(memory) = &mut chip.memory {
        memory.note = ONE_POOL;
    }
    chip
}

/// Gives the Tomahawk its four MMUs, with 128 KiB for each queue.
const fn tomahawk(mut chip: Chip) -> Chip {
    let ((alpha, alpha_note), private) = (A7060CX, Bytes::new(128 << 10));
    chip.memory = Some(Mmu { alpha, alpha_note, count: 4, private, cell: CELL, note: MMUS });
    chip
}

static CHIPS: &[Chip] = &[
    one(chip(("bcm56538", "BCM56538", BROADCOM), 48, 1, 4 * MIB, BCM56538), None, UNKNOWN),
    one(chip(("trident-plus", "Trident+", BROADCOM), 48, 10, 9 * MIB, BOTH), CELL, UNKNOWN),
    one(chip(("trident2", "Trident II", BROADCOM), 32, 40, 12 * MIB, BOTH), CELL, S6000),
    one(chip(("trident3", "Trident 3", BROADCOM), 32, 100, 32 * MIB, FLASHPASS), None, S5232F),
    one(chip(("trident4", "Trident 4", BROADCOM), 32, 400, 132 * MIB, FLASHPASS), None, UNKNOWN),
    tomahawk(chip(("tomahawk", "Tomahawk", BROADCOM), 32, 100, 16 * MIB, TOMAHAWK)),
    one(chip(("tofino", "Tofino", BAREFOOT), 64, 100, 22_000_000, TOFINO), None, WEDGE100BF),
    one(chip(("tofino2", "Tofino 2", BAREFOOT), 32, 400, 64 * MIB, FLASHPASS), None, AS9516),
    one_pool(chip(("tomahawk2", "Tomahawk 2", BROADCOM), 64, 100, 42 * MIB, TOMAHAWK2), Z9264F),
    one_pool(chip(("tomahawk3", "Tomahawk 3", BROADCOM), 32, 400, 64 * MIB, TOMAHAWK3), Z9332F),
    unknown(("tomahawk4", "Tomahawk 4", BROADCOM), 64, 400, TOMAHAWK4),
    unknown(("tomahawk5", "Tomahawk 5", BROADCOM), 64, 800, TOMAHAWK5),
    chip(("jericho2", "Jericho2", BROADCOM), 12, 400, 8_000_000_000, JERICHO2),
    unknown(("jericho2c", "Jericho2c", BROADCOM), 24, 100, JERICHO2C),
    one(chip(("spectrum", "Spectrum", NVIDIA), 32, 100, 16 * MIB, SPECTRUM), None, SN2700),
    one(chip(("spectrum2", "Spectrum-2", NVIDIA), 32, 200, 42 * MIB, SPECTRUM2), None, SN3700),
    one(chip(("spectrum3", "Spectrum-3", NVIDIA), 32, 400, 64 * MIB, SPECTRUM2), None, SN4700),
    unknown(("spectrum4", "Spectrum-4", NVIDIA), 64, 800, SPECTRUM4),
    chip(("arista-7504r-10g", "7504R, 10 Gb/s ports", ARISTA), 576, 10, 96_000_000_000, ROUTER),
    chip(("arista-7504r", "7504R, 100 Gb/s ports", ARISTA), 144, 100, 96_000_000_000, ROUTER),
    chip(("arista-7516r-10g", "7516R, 10 Gb/s ports", ARISTA), 2_304, 10, 384_000_000_000, ROUTER),
    chip(("arista-7516r", "7516R, 100 Gb/s ports", ARISTA), 576, 100, 384_000_000_000, ROUTER),
];

/// All chips and routers, chips first.
pub fn all() -> &'static [Chip] {
    CHIPS
}

pub fn find(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_per_gigabit_are_those_of_the_tables() {
        // KB per port per Gb/s as printed, and the unit they are printed in.
        let printed = [
            ("bcm56538", 85.3, 1024.0),
            ("trident-plus", 19.2, 1024.0),
            ("trident2", 9.6, 1024.0),
            ("trident3", 10.24, 1024.0),
            ("trident4", 10.56, 1024.0),
            ("tomahawk", 5.12, 1024.0),
            ("tofino", 3.44, 1000.0),
            ("tofino2", 5.12, 1024.0),
            ("arista-7504r-10g", 16_667.0, 1000.0),
            ("arista-7516r", 6_667.0, 1000.0),
        ];
        for (id, kb, unit) in printed {
            let each = find(id).unwrap().buffer_per_gbps().unwrap().get() as f64 / unit;
            assert!((each / kb - 1.0).abs() < 0.002, "{id}: {each} is not {kb}");
        }
    }

    #[test]
    fn names_are_unique_and_shares_are_even() {
        for (index, chip) in all().iter().enumerate() {
            assert!(all()[..index].iter().all(|other| other.id != chip.id), "{}", chip.id);
            assert_eq!(chip.capacity.get(), chip.port_rate.get() * u64::from(chip.ports));
        }
        let tofino = find("tofino").unwrap();
        assert_eq!(tofino.buffer_per_port(), Some(Bytes::new(343_750)));
        assert_eq!(find("tofino9"), None);
        for memory in all().iter().filter_map(|chip| chip.memory.as_ref()) {
            assert!(memory.alpha > 0.0 && !memory.alpha_note.is_empty());
        }
        assert!(all().iter().all(|chip| chip.memory.is_none() || chip.pool().is_some()));
    }

    #[test]
    fn a_chip_whose_memory_is_not_public_has_none() {
        let [fourth, third] = ["tomahawk4", "tomahawk3"].map(|id| find(id).unwrap());
        assert_eq!((fourth.buffer, fourth.buffer_per_gbps(), fourth.pool()), (None, None, None));
        assert_eq!((fourth.capacity, fourth.ports), (BitsPerSec::gbps(25_600), 64));
        assert_eq!(third.buffer_per_port(), Some(Bytes::new(2 << 20)));
        assert_eq!(find("spectrum3").unwrap().ports_per_mmu(), Some(32));
    }
}
