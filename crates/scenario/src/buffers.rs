//! The keys of a switch's shared memory and of its ECN marking (a step, RED, or BCC), and how they are read.

use super::{bounds::SOME, switches::SwitchOptions};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_options::{
    Item, Key, Options, Problem, RustType, Section, Subsection, Value, ValueType, WrongValue, string_enum,
};
use shallop_plan::chips::{Chip, Mmu};
use shallop_plan::plan::{Bcc, QueueMarking, Shared};
use shallop_switch::{MarkAt, Signals, Spacing};
use shallop_topology::bounds::{MAX_DELAY, RATE};

const ALPHA: ValueType = ValueType::Above(0.0, 1_024.0);
const PROBABILITY: ValueType = ValueType::Above(0.0, 1.0);
const CELL: [ValueType; 2] = [ValueType::OneOf(&["chip"]), ValueType::Size(Bytes::new(1), Bytes::new(65_536))];
const POOL: ValueType = ValueType::List(&ValueType::Text);

/// The keys of `shared`: a memory pool that several ports of a switch share.
#[derive(Clone, Debug, Options)]
pub(super) struct SharedOptions {
    /// The memory of a pool.
    #[key(Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)), shown = "that of the `chip`")]
    pub size: Option<Bytes>,
    /// The number of ports that share a pool; the next ports share another pool.
    #[key(Integer(1, 100_000), shown = "that of the `chip`, or all")]
    pub ports: Option<u32>,
    /// Pools for chosen ports. Each pool is a list of the nodes that its ports lead to, or of sets of links.
    #[key(List(&POOL), default = Vec::new())]
    pub pools: Vec<Vec<String>>,
    /// A packet is admitted to a queue while the queue is shorter than this times the free memory (Dynamic Thresholds).
    #[key(ALPHA, shown = "that of the `chip`, or `1`")]
    pub alpha: Option<f64>,
    /// The most of a pool that each queue may hold, in addition to its `private` memory and whatever is free: a fixed
    /// limit in place of `alpha` (`static_th`).
    #[key(SOME, shown = "none: `alpha` holds")]
    pub r#static: Option<Bytes>,
    /// The `alpha` of the queue with the `legacy_weight`.
    #[key(ALPHA, shown = "`alpha`, or `static`")]
    pub legacy_alpha: Option<f64>,
    /// The private memory of each queue, in addition to the pool.
    #[key(Size(Bytes::ZERO, Bytes::new(1_000_000_000)), shown = "that of the `chip`, or \"0B\"")]
    pub private: Option<Bytes>,
    /// The size of a memory cell, or `"chip"` for the cell size of the chip. Each packet takes whole cells.
    #[key(AnyOf(&CELL), default = Cell::Of(Bytes::new(1)))]
    pub cell: Cell,
    /// ECN marking by the occupancy of a pool.
    #[section]
    pub mark: Subsection<PoolMarkOptions>,
}

/// The value of the key `cell`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    /// The cell size that the `chip` of the switch has.
    Chip,
    Of(Bytes),
}

impl Value for Cell {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if item.text() == Some("chip") {
            return Ok(Self::Chip);
        }
        Bytes::read(item, allowed).map(Self::Of)
    }

    fn show(&self) -> Option<String> {
        match self {
            Self::Chip => Some("\"chip\"".to_owned()),
            Self::Of(size) => size.show(),
        }
    }
}

/// What happens where others are marked to packets that are not ECN-capable: the values of the key `not_ect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotEct {
    Keep,
    Drop,
}

string_enum! { NotEct { Keep = "keep", Drop = "drop" } }

/// The keys that the marking of a queue and of a pool have in common.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct MarkRules {
    /// The probability of a mark at `max`; it rises linearly from zero at `min`.
    #[key(PROBABILITY, default = 1.0)]
    pub probability: f64,
    /// When the length of the queue or pool is compared: as a packet joins the queue, or as it leaves.
    #[key(default = MarkAt::Enqueue)]
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are queued or dropped where ECN-capable ones are marked.
    #[key(default = NotEct::Keep)]
    pub not_ect: NotEct,
    /// How marks by chance are spaced: each packet is drawn for (`"none"`), or the distances are uniform from 1 to
    /// 1 / p packets (`"count"`, RED of 1993), which marks a fraction 2 p / (1 + p).
    #[key(default = Spacing::Independent)]
    pub spacing: Spacing,
}

/// The keys of `mark` of a switch: ECN marking by the length of the data queue, with a step or with RED.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct MarkOptions {
    /// The queue length above which all packets are marked. For RED write `min` and `max` instead.
    pub above: Option<BufferSize>,
    /// RED: the queue length up to which no packet is marked.
    pub min: Option<BufferSize>,
    /// RED: the queue length above which all packets are marked.
    pub max: Option<BufferSize>,
    /// The queue length is an exponentially weighted moving average with the gain 2^-`weight`. 0: the present length.
    #[key(Integer(0, 15), default = 0)]
    pub weight: u32,
    #[part]
    pub rules: MarkRules,
}

/// The keys of `drop` of a switch: drops by the length of the data queue before the buffer is full (WRED).
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct DropOptions {
    /// The queue length above which all these packets are dropped. For a ramp write `min` and `max` instead.
    pub above: Option<BufferSize>,
    /// The queue length up to which no packet is dropped.
    pub min: Option<BufferSize>,
    /// The queue length above which all these packets are dropped.
    pub max: Option<BufferSize>,
    /// The queue length is an exponentially weighted moving average with the gain 2^-`weight`. 0: the present length.
    #[key(Integer(0, 15), default = 0)]
    pub weight: u32,
    /// The probability of a drop at `max`; it rises linearly from zero at `min`.
    #[key(PROBABILITY, default = 1.0)]
    pub probability: f64,
    /// How drops by chance are spaced: independent draws (`"none"`), or as in RED of 1993 (`"count"`).
    #[key(default = Spacing::Independent)]
    pub spacing: Spacing,
}

/// The keys of `shaper` and `policer` of a switch: a token bucket.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct BucketOptions {
    /// The rate at which tokens arrive, in bytes on the wire.
    #[key(RATE)]
    pub rate: BitsPerSec,
    /// The most tokens in the bucket: the bytes on the wire that pass at once after a pause. A packet of more bytes
    /// needs a full bucket.
    #[key(SOME)]
    pub burst: Bytes,
}

/// The keys of `mark` of `shared`: ECN marking by the occupancy of a memory pool.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct PoolMarkOptions {
    /// The occupancy above which all packets are marked. For RED write `min` and `max` instead.
    #[key(SOME)]
    pub above: Option<Bytes>,
    /// RED: the occupancy up to which no packet is marked.
    #[key(SOME)]
    pub min: Option<Bytes>,
    /// RED: the occupancy above which all packets are marked.
    #[key(SOME)]
    pub max: Option<Bytes>,
    #[part]
    pub rules: MarkRules,
}

/// A named set of defaults for the keys of `bcc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preset {
    Ns2,
}

string_enum! { Preset { Ns2 = "bcc-ns2" } }

/// The keys of `bcc`: ECN thresholds of a memory pool, computed by the rules of BCC.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct BccOptions {
    /// The base round-trip time of the network.
    #[key(Time(Span::from_ns(1), MAX_DELAY))]
    pub rtt: Span,
    /// The fraction of C RTT (the rate of a port times the base round-trip time) that senders need queued to keep a
    /// link busy. The paper has 1 for ECN*, 0.72 for DCTCP.
    #[key(Above(0.0, 100.0))]
    pub lambda: f64,
    /// The time in which the ports of a pool, all receiving at their rate, fill it from Kmin to Kmax.
    #[key(Time(Span::ZERO, MAX_DELAY), default = Span::from_us(8))]
    pub h: Span,
    /// The probability of a mark at Kmax; it rises linearly from zero at Kmin.
    #[key(PROBABILITY, default = 0.1)]
    pub probability: f64,
    /// A set of defaults. `"bcc-ns2"` has the settings of the authors' simulations: `at = "dequeue"`, `spacing =
    /// "count"`.
    pub preset: Option<Preset>,
    /// When the occupancy of the pool is compared: as a packet joins its queue, or as it leaves.
    #[key(shown = "\"enqueue\"")]
    pub at: Option<MarkAt>,
    /// How marks by chance are spaced: each packet is drawn for (`"none"`), or the distances are uniform from 1 to
    /// 1 / p packets (`"count"`, RED of 1993).
    #[key(shown = "\"none\"")]
    pub spacing: Option<Spacing>,
    /// `B_R`, the part of the pool's memory that a queue needs.
    #[key(Size(Bytes::ZERO, Bytes::new(1_000_000_000_000)), shown = "C RTT (1 + `lambda`) less `private`")]
    pub required: Option<Bytes>,
    /// Kmax, the occupancy of the pool above which all packets are marked.
    #[key(SOME, shown = "B - `B_R` / `alpha`")]
    pub max: Option<Bytes>,
    /// Kmin, the occupancy of the pool up to which no packet is marked.
    #[key(SOME, shown = "Kmax - C N `h`, N being the ports of a pool")]
    pub min: Option<Bytes>,
}

/// The shared memory of a switch as read.
pub(super) struct SharedEntry {
    pub memory: Shared,
    /// For each of `pools`, the names of its ports.
    pub pools: Vec<Vec<String>>,
    /// A size that neither the section nor a chip states. It is an error if a node of the network is such a switch;
    /// nodes may have chips of their own instead.
    pub missing: Option<Problem>,
}

/// Reads `shared` of a switch. Without it a switch with a `chip` and no `buffer` has the shared memory of the chip. The
/// memory of `own`, the chip of a node, replaces sizes of the section.
pub(super) fn shared(
    section: &Section<'_>, chip: Option<&Chip>, own: Option<&Chip>,
) -> Result<Option<SharedEntry>, Problem> {
    let keys = SwitchOptions::KEY;
    let Some(shared) = section.nested(keys.shared)? else {
        let chip = own.or(chip.filter(|_| !section.is_written(keys.buffer)));
        let entry = |memory| SharedEntry { memory, pools: Vec::new(), missing: None };
        return Ok(chip.and_then(Shared::of_chip).map(entry));
    };
    if section.is_written(keys.buffer) {
        let problem = section.reject(keys.buffer, "ports share their memory, and have none each");
        let size = section.item(keys.buffer).and_then(Item::text).unwrap_or("1MB");
        return Err(problem.with_help(format!(
            "either `buffer` or `shared`; a fixed limit of each queue in the pool is `static = \"{size}\"` in `shared`"
        )));
    }
    let of_chip = match own.or(chip) {
        None => None,
        Some(chip) => Some(Shared::of_chip(chip).ok_or_else(|| unknown(section, own))?),
    };
    let memory = own.or(chip).and_then(|chip| chip.memory.as_ref());
    let SharedOptions { size, ports, pools, alpha, r#static: fixed, legacy_alpha, private, cell, .. } =
        shared.read(())?;
    if fixed.is_some() && alpha.is_some() {
        let problem = shared.reject(SharedOptions::KEY.alpha, "`static` beside it is the limit of a queue");
        return Err(problem.with_help("one of the two"));
    }
    let written = Shared {
        size: size.unwrap_or_default(),
        ports,
        private: private.unwrap_or_default(),
        ..Shared::new(Bytes::ZERO)
    };
    let model = of_chip.unwrap_or(written);
    let alpha = alpha.unwrap_or(model.alpha);
    let (cell, lacks_cell) = match cell_size(&shared, cell, memory) {
        Ok(cell) => (cell, None),
        Err(problem) => (Bytes::new(1), Some(problem)),
    };
    let replaces = own.is_some();
    let memory = Shared {
        size: size.filter(|_| !replaces).unwrap_or(model.size),
        ports: ports.filter(|_| !replaces).or(model.ports),
        alpha,
        legacy_alpha: legacy_alpha.unwrap_or(alpha),
        limits: [fixed, fixed.filter(|_| legacy_alpha.is_none())],
        private: private.filter(|_| !replaces).unwrap_or(model.private),
        cell,
        mark: pool_mark(&shared)?,
    };
    let key = SharedOptions::KEY.legacy_alpha;
    if !section.is_written(keys.legacy_weight) && shared.is_written(key) {
        let problem = shared.reject(key, "there is no such queue");
        return Err(problem.with_help("write a `legacy_weight` in the section of the switch"));
    }
    let lacks_size = (size.is_none() && of_chip.is_none()).then(|| {
        let problem = shared.lacks(SharedOptions::KEY.size);
        let help = format!("{}; or name a `chip` that has it", problem.help);
        problem.with_help(help)
    });
    Ok(Some(SharedEntry { memory, pools, missing: lacks_size.or(lacks_cell) }))
}

/// The error for `shared` beside a chip of which it is not known how it shares its memory.
fn unknown(section: &Section<'_>, own: Option<&Chip>) -> Problem {
    let keys = SwitchOptions::KEY;
    let Some(own) = own else {
        let problem = section.reject(keys.chip, "it is not known how its memory is shared");
        return problem.with_help("leave out `chip`, and give `shared` a `size`");
    };
    let why =
        format!("it is not known how the memory of the chip \"{}\" is shared, which the network file names", own.id);
    section.reject(keys.shared.key, why).with_help("describe these nodes in a section of their own")
}

/// The cell size in bytes, which for `"chip"` comes from the memory of the chip.
fn cell_size(shared: &Section<'_>, cell: Cell, memory: Option<&Mmu>) -> Result<Bytes, Problem> {
    if let Cell::Of(size) = cell {
        return Ok(size);
    }
    memory.and_then(|memory| memory.cell).ok_or_else(|| {
        let problem = shared.reject(SharedOptions::KEY.cell, "no chip with known cells is named");
        problem.with_help("write the size of a cell, such as \"208B\"")
    })
}

/// Reads `mark` of `shared`, the marking rule of memory pools.
fn pool_mark(shared: &Section<'_>) -> Result<Option<QueueMarking>, Problem> {
    let keys = PoolMarkOptions::KEY;
    let Some(mut mark) = shared.nested(SharedOptions::KEY.mark)? else { return Ok(None) };
    mark.name = format!("`mark` of {}", shared.name);
    let options: PoolMarkOptions = mark.read(())?;
    let sizes = [options.above, options.min, options.max].map(|size| size.map(BufferSize::Bytes));
    marking(&mark, ([keys.above, keys.min, keys.max], sizes), (0, &options.rules)).map(Some)
}

/// Reads `mark` of a switch, the marking rule of its data queues.
pub(super) fn mark(section: &Section<'_>) -> Result<Option<QueueMarking>, Problem> {
    let keys = MarkOptions::KEY;
    let written = section.item(SwitchOptions::KEY.mark).and_then(Item::table);
    let of_drops = written.is_some_and(|table| table.keys().any(|key| key.starts_with("drop")));
    let mark = section.nested(SwitchOptions::KEY.mark).map_err(|problem| {
        let help = "thresholds of drops are keys of `drop` beside `mark`: drop = { min = \"300KB\", max = \"600KB\", \
                    probability = 0.05 }; leave out `not_ect`";
        if of_drops { problem.with_help(help) } else { problem }
    })?;
    let Some(mark) = mark else { return Ok(None) };
    let options: MarkOptions = mark.read(())?;
    let sizes = [options.above, options.min, options.max];
    let rules = (options.weight, &options.rules);
    marking(&mark, ([keys.above, keys.min, keys.max], sizes), rules).map(Some)
}

/// Reads `shaper` or `policer` of a switch: the rate and the burst.
pub(super) fn bucket(
    section: &Section<'_>, key: Subsection<BucketOptions>,
) -> Result<Option<(BitsPerSec, Bytes)>, Problem> {
    let Some(bucket) = section.nested(key)? else { return Ok(None) };
    let BucketOptions { rate, burst } = bucket.read(())?;
    Ok(Some((rate, burst)))
}

/// Reads `drop` of a switch, by which data queues drop packets that none of its rules marks (`marks`: there are some).
pub(super) fn drop(section: &Section<'_>, marks: bool) -> Result<Option<QueueMarking>, Problem> {
    let (keys, key) = (DropOptions::KEY, SwitchOptions::KEY.drop);
    let Some(drop) = section.nested(key)? else { return Ok(None) };
    let beside = section.nested(SwitchOptions::KEY.mark)?.map(|mark| mark.read::<MarkOptions>(())).transpose()?;
    if beside.is_some_and(|mark| mark.rules.not_ect == NotEct::Drop) {
        let problem = section.reject(key, "`mark` drops packets that are not ECN-capable, too (`not_ect`)");
        return Err(problem.with_help("leave out `not_ect` there, or `drop` here"));
    }
    let DropOptions { above, min, max, weight, probability, spacing } = drop.read(())?;
    let rules = MarkRules { probability, at: MarkAt::Enqueue, not_ect: NotEct::Keep, spacing };
    let rule = marking(&drop, ([keys.above, keys.min, keys.max], [above, min, max]), (weight, &rules))?;
    let signals = if marks { Signals::DropNotEct } else { Signals::DropAll };
    Ok(Some(QueueMarking { signals, ..rule }))
}

/// Makes a marking rule of `above` (a step), or of `min` and `max` (RED). `keys` are `above`, `min` and `max`, for
/// errors.
fn marking(
    mark: &Section<'_>, (keys, [above, min, max]): ([&'static Key; 3], [Option<BufferSize>; 3]),
    (weight, rules): (u32, &MarkRules),
) -> Result<QueueMarking, Problem> {
    let (at, drops) = (rules.at, rules.not_ect == NotEct::Drop);
    if drops && at == MarkAt::Dequeue {
        let problem = mark.reject(MarkRules::KEY.not_ect, "only what arrives is dropped");
        return Err(problem.with_help("\"keep\", or at = \"enqueue\""));
    }
    let (min, max) = match (above, min, max) {
        (Some(above), None, None) => (above, above),
        (Some(_), ..) => {
            return Err(mark.reject(keys[0], "it is both `min` and `max`").with_help("either `above` or the two"));
        }
        (None, Some(min), Some(max)) => (min, max),
        (None, None, None) => {
            let problem = mark.lacks(keys[0]);
            let help = format!("{}; or write `min` and `max`", problem.help);
            return Err(problem.with_help(help));
        }
        (None, Some(_), None) => return Err(mark.lacks(keys[2])),
        (None, None, Some(_)) => return Err(mark.lacks(keys[1])),
    };
    ordered(mark, keys, (min, max))?;
    let probability = MarkRules::KEY.probability;
    if above.is_some() && mark.is_written(probability) {
        let problem = mark.reject(probability, "above a step nothing is left to chance");
        return Err(problem.with_help("write `min` and `max` in place of `above`"));
    }
    let signals = if drops { Signals::MarkOrDrop } else { Signals::Mark };
    Ok(QueueMarking { min, max, max_probability: rules.probability, weight, at, signals, spacing: rules.spacing })
}

/// Checks that two thresholds have the same unit, and that `min` is not above `max`.
fn ordered(
    mark: &Section<'_>, [_, of_min, of_max]: [&'static Key; 3], (min, max): (BufferSize, BufferSize),
) -> Result<(), Problem> {
    let order = match (min, max) {
        (BufferSize::Packets(min), BufferSize::Packets(max)) => min <= max,
        (BufferSize::Bytes(min), BufferSize::Bytes(max)) | (BufferSize::PerGbps(min), BufferSize::PerGbps(max)) => {
            min <= max
        }
        _ => {
            let problem = mark.reject(of_max, format!("{max} and {min} are not of one kind"));
            return Err(problem.with_help("both in packets, both in bytes, or both per Gb/s"));
        }
    };
    if order {
        return Ok(());
    }
    let problem = mark.reject(of_min, format!("{min} is above `max`, which is {max}"));
    Err(problem.with_help("`min` must not be above `max`"))
}

/// Reads `bcc` of a switch. Its ports must share memory, whose pools have no other marking rule.
pub(super) fn bcc(section: &Section<'_>, shared: Option<&Shared>) -> Result<Option<Bcc>, Problem> {
    let key = SwitchOptions::KEY.bcc;
    if section.item(key).is_none() {
        return Ok(None);
    }
    let Some(shared) = shared else {
        let problem = section.reject(key, "its ports share no memory");
        return Err(problem.with_help("write `shared`, with a `size` or a `chip` beside it"));
    };
    if shared.limits[0].is_some() {
        let problem = section.reject(key, "its thresholds follow from `alpha`, and `shared` has `static`");
        return Err(problem.with_help("leave out one of the two"));
    }
    if shared.mark.is_some() {
        let problem = section.reject(key, "`shared` has a `mark` as well");
        return Err(problem.with_help("one of the two says when pools mark"));
    }
    let Some(bcc) = section.nested(key)? else { return Ok(None) };
    let options: BccOptions = bcc.read(())?;
    let BccOptions { rtt, lambda, h, probability: max_probability, preset, required, max, min, .. } = options;
    let of_preset = match preset {
        Some(Preset::Ns2) => (MarkAt::Dequeue, Spacing::Count),
        None => (MarkAt::Enqueue, Spacing::Independent),
    };
    let (at, spacing) = (options.at.unwrap_or(of_preset.0), options.spacing.unwrap_or(of_preset.1));
    Ok(Some(Bcc { rtt, lambda, h, max_probability, at, spacing, required, min, max }))
}
