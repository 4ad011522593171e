//! The keys of `[switch.NAME]`, and how these sections are read.

use shallop_core::{BufferSize, Bytes};
use shallop_options::suggest::advice;
use shallop_options::{
    Item, Options, Problem, RustType, Section, StringEnum, Subsection, Value, ValueType, WrongValue,
};

use super::buffers::{self, BccOptions, BucketOptions, DropOptions, MarkOptions, SharedOptions};
use super::import::OwnChip;
use shallop_plan::chips::{self, Chip};
use shallop_plan::plan::{Accounting, Switch, UnscheduledDrop};
use shallop_switch::{Aqm, AqmOptions};

/// The default buffer of a port, per Gb/s of its rate, as in the papers.
const BUFFER: BufferSize = BufferSize::PerGbps(Bytes::new(20_000));

/// The keys of a `[switch.NAME]`.
#[derive(Clone, Debug, Options)]
pub(super) struct SwitchOptions {
    /// The chip of the switch, one of `shallop chips`. The ports share its memory by Dynamic Thresholds, unless there
    /// is a `buffer`.
    pub chip: Option<String>,
    /// The data buffer of each port.
    #[key(shown = format!("shared memory with a `chip`, else \"{BUFFER}\""))]
    pub buffer: Option<BufferSize>,
    /// Memory that the ports share, in place of a buffer for each port.
    #[section]
    pub shared: Subsection<SharedOptions>,
    /// ECN marking by the occupancy of shared memory, with the thresholds that BCC computes.
    #[section]
    pub bcc: Subsection<BccOptions>,
    /// ECN marking by the length of the data queue.
    #[section]
    pub mark: Subsection<MarkOptions>,
    /// Drops by the length of the data queue, before the buffer is full (RED, WRED). Beside a rule that marks, they
    /// concern packets that are not ECN-capable, otherwise all.
    #[section(was = "wred", was = "red")]
    pub drop: Subsection<DropOptions>,
    /// A token bucket at each port, for whose tokens data waits in the queue.
    #[section]
    pub shaper: Subsection<BucketOptions>,
    /// A token bucket at each port. Data for which it has no tokens is dropped as it arrives.
    #[section]
    pub policer: Subsection<BucketOptions>,
    #[part]
    pub aqm: AqmOptions,
    /// The length of the queue of credits or emulation packets of a port.
    #[key(default = BufferSize::Packets(8))]
    pub credit_queue: BufferSize,
    /// The number of credits or emulation packets that may leave back to back.
    #[key(Integer(1, 10_000), default = 2)]
    pub credit_burst: u32,
    /// Selective drop: the length of the queue of emulation packets above which packets that are not ECN-capable are
    /// dropped; `"off"` for none.
    #[key(
        AnyOf(&[OneOf(&["off"]), Buffer]),
        default = SelectiveDrop(Some(BufferSize::Packets(2))),
        was = "select"
    )]
    pub selective_drop: SelectiveDrop,
    /// The length of the data queue above which data sent without a credit is dropped (Aeolus).
    #[key(default = BufferSize::Packets(2))]
    pub unscheduled_above: BufferSize,
    /// Which of that data is dropped: what would make the queue longer than `unscheduled_above` (`"above"`), or what
    /// finds it at that length or longer (`"reached"`). `"low-priority"`: none for its length; it waits in a queue of
    /// its own, which is served when no other packet waits.
    #[key(shown = "`\"above\"`, with `aeolus-paper` `\"reached\"`")]
    pub unscheduled_drop: Option<UnscheduledDrop>,
    /// Which returning credits the metered rate of emulation packets leaves space for (docs/flashpass.md).
    #[key(shown = "\"per-link\", or \"one-way\" with `flashpass-paper`")]
    pub accounting: Option<Accounting>,
    /// Whether ports have a queue that meters credits or emulation packets. Without it, these are queued with the data.
    #[key(default = true)]
    pub emulation: bool,
    /// The weight of a separate queue for transports without credits, if they run beside a transport with credits.
    #[key(Integer(1, 1_000), shown = "none: they share the data queue")]
    pub legacy_weight: Option<u32>,
    /// The weight of the data queue beside the queue with the `legacy_weight`.
    #[key(Integer(1, 1_000), default = 1)]
    pub data_weight: u32,
}

/// The value of the key `selective_drop`: a queue length, or `None` for `"off"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectiveDrop(Option<BufferSize>);

impl Value for SelectiveDrop {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if item.text() == Some("off") {
            return Ok(Self(None));
        }
        BufferSize::read(item, allowed).map(|above| Self(Some(above)))
    }

    fn show(&self) -> Option<String> {
        self.0.map_or_else(|| Some("\"off\"".to_owned()), |above| above.show())
    }
}

/// Switch settings as read. The default is always first.
#[derive(Clone)]
pub(super) struct Switches {
    pub all: Vec<Switch>,
    /// Settings that lack a size of their shared memory, with the error for networks that have such a switch.
    pub missing: Vec<(usize, Problem)>,
}

/// Reads every `[switch.NAME]`.
pub(super) fn read(item: Option<&Item>) -> Result<Switches, Problem> {
    let mut switches = Switches { all: Vec::new(), missing: Vec::new() };
    switches.add("default", &Section::empty::<SwitchOptions>("[switch.default]"), None)?;
    let Some(item) = item else { return Ok(switches) };
    let Some(table) = item.table() else {
        let problem = item.problem(format!("[switch] should be sections, found {}", item.found()));
        return Err(problem.with_help("write [switch.default], or another name for \"default\""));
    };
    for (name, entry) in table {
        let section = Section::open::<SwitchOptions>(format!("[switch.{name}]"), &entry.item)?;
        switches.add(name, &section, None)?;
    }
    Ok(switches)
}

impl Switches {
    /// Adds the settings of a section, or those of a section with the memory of another chip (`own`).
    fn add(&mut self, name: &str, section: &Section<'_>, own: Option<&'static Chip>) -> Result<(), Problem> {
        let (switch, missing) = switch(name, section, own)?;
        let at = if name == "default" && own.is_none() { 0 } else { self.all.len() };
        self.missing.extend(missing.map(|problem| (at, problem)));
        match self.all.get_mut(at) {
            Some(default) => *default = switch,
            None => self.all.push(switch),
        }
        Ok(())
    }

    /// Adds the settings for the chips that a network file names. `item` has the `[switch.NAME]` sections.
    pub(super) fn add_chips(&mut self, item: Option<&Item>, chips: &[OwnChip]) -> Result<(), Problem> {
        for own in chips {
            let name = self.all[own.like].name.clone();
            let title = format!("[switch.{name}]");
            let section = match item.and_then(|item| item.get(&name)) {
                Some(item) => Section::open::<SwitchOptions>(title, item)?,
                None => Section::empty::<SwitchOptions>(&title),
            };
            self.add(&name, &section, Some(own.chip))?;
        }
        Ok(())
    }
}

/// Reads the settings of a section, and the error if they lack a size of shared memory. The memory of `own`, the chip
/// of a node, replaces that of the section.
fn switch(name: &str, section: &Section<'_>, own: Option<&'static Chip>) -> Result<(Switch, Option<Problem>), Problem> {
    let options: SwitchOptions = section.read(())?;
    let chip = chip(section, options.chip.as_deref())?;
    let shared = buffers::shared(section, chip, own)?;
    let buffer = match (own, options.buffer, chip.map(Chip::buffer_per_gbps)) {
        (Some(own), ..) => BufferSize::PerGbps(own.buffer_per_gbps().unwrap_or_default()),
        (None, Some(buffer), _) => buffer,
        (None, None, None) => BUFFER,
        (None, None, Some(Some(each))) => BufferSize::PerGbps(each),
        (None, None, Some(None)) => {
            let key = SwitchOptions::KEY.chip;
            let problem = section.reject(key, "the memory of this chip is not public");
            return Err(problem.with_help("write a `buffer` beside it: that of your switch"));
        }
    };
    let aqm = aqm(section)?;
    let memory = shared.as_ref().map(|shared| shared.memory);
    let bcc = buffers::bcc(section, memory.as_ref())?;
    let mark = buffers::mark(section)?;
    let marks = mark.is_some() || bcc.is_some() || memory.is_some_and(|shared| shared.mark.is_some());
    let (pools, missing) = shared.map_or_else(Default::default, |shared| (shared.pools, shared.missing));
    let switch = Switch {
        name: own.map_or_else(|| name.to_owned(), |own| format!("{name}, {}", own.id)),
        chip: own.or(chip).map(|chip| chip.id),
        buffer,
        bcc,
        shared: memory,
        pools,
        mark,
        drop: buffers::drop(section, marks)?,
        shaper: buffers::bucket(section, SwitchOptions::KEY.shaper)?,
        policer: buffers::bucket(section, SwitchOptions::KEY.policer)?,
        aqm,
        credit_queue: options.credit_queue,
        credit_burst: options.credit_burst,
        select: options.selective_drop.0,
        unscheduled_above: options.unscheduled_above,
        unscheduled_drop: options.unscheduled_drop,
        accounting: options.accounting,
        emulation: options.emulation,
        weights: weights(section, &options)?,
    };
    Ok((switch, missing))
}

/// Reads the queue discipline of the data queues; `None` for FIFO.
fn aqm(section: &Section<'_>) -> Result<Option<Aqm>, Problem> {
    let Some(aqm) = Aqm::read(section)? else { return Ok(None) };
    for key in [SwitchOptions::KEY.mark.key, SwitchOptions::KEY.drop.key, SwitchOptions::KEY.bcc.key] {
        if section.is_written(key) {
            let name = aqm.name().word();
            let problem = section.reject(key, format!("{name} decides by itself what is marked or dropped"));
            return Err(problem.with_help(format!("leave out `{}` or `aqm`", key.name)));
        }
    }
    Ok(Some(aqm))
}

fn chip(section: &Section<'_>, id: Option<&str>) -> Result<Option<&'static Chip>, Problem> {
    let Some(id) = id else { return Ok(None) };
    chips::find(id).map(Some).ok_or_else(|| {
        let known: Vec<&str> = chips::all().iter().map(|chip| chip.id).collect();
        let message = format!("there is no chip \"{id}\"");
        section.reject(SwitchOptions::KEY.chip, message).with_help(advice(id, known))
    })
}

/// The weights of the data queue and of the queue for transports without credits, if there is one.
fn weights(section: &Section<'_>, options: &SwitchOptions) -> Result<Option<(u32, u32)>, Problem> {
    let key = SwitchOptions::KEY.data_weight;
    if options.legacy_weight.is_none() && section.is_written(key) {
        let problem = section.reject(key, "there is no queue to share with");
        return Err(problem.with_help("write a `legacy_weight` beside it"));
    }
    Ok(options.legacy_weight.map(|legacy| (options.data_weight, legacy)))
}
