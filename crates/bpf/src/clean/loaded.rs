//! The CLEAN proxy, loaded by libbpf.

use std::{fs, os::fd::AsFd, path::Path, time::Duration};

use libbpf_rs::{
    MapCore, MapFlags, MapHandle, Object, ObjectBuilder, ProgramInput, ProgramMut, TC_EGRESS, TC_INGRESS,
    TcHook as LibbpfHook,
};

use super::{Counters, Flow, Program, Settings, TcHook};
use crate::libbpf::{listen, map_of, missing, refused, warnings};
use crate::{BpfError, error::file};

const CLEAN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clean.o"));

/// The priority of the proxy's filters at a device; other filters may come before and after.
const PRIORITY: u32 = 0x5c1e;
/// The maps that [`Proxy::pin`] pins in a BPF file system.
const MAPS: [&str; 3] = ["settings", "flows", "counters"];
/// The bytes of `struct __sk_buff` that a test run needs: those up to `gso_size`.
const CONTEXT: usize = 192;
/// The error ENODEV, which has no [`libbpf_rs::ErrorKind`].
const NO_DEVICE: &str = "(os error 19)";
/// The byte offset of `gso_segs` in `struct __sk_buff`.
const GSO_SEGS: usize = 164;
/// The byte offset of `gso_size` in `struct __sk_buff`.
const GSO_SIZE: usize = 176;

/// The programs of a CLEAN proxy and their maps. They stay in the kernel until this value is dropped and the programs
/// are detached from all devices.
#[derive(Debug)]
pub struct Proxy {
    object: Object,
    maps: ProxyMaps,
    warnings: Vec<String>,
}

impl Proxy {
    /// Loads a proxy for devices whose link header has this number of bytes: 14 for Ethernet, 0 for devices without
    /// one.
    ///
    /// # Errors
    /// If the kernel refuses a program, for example because this process lacks capabilities.
    pub fn load(settings: &Settings, link_header: u32) -> Result<Self, BpfError> {
        listen();
        let what = "the programs of CLEAN";
        let mut object = ObjectBuilder::default().open_memory(CLEAN).map_err(refused(what))?;
        for mut map in object.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if name == "flows" {
                map.set_max_entries(settings.config.flows).map_err(refused(what))?;
            } else if name.ends_with("rodata") {
                let place = map.initial_value_mut().and_then(|of| of.first_chunk_mut::<4>());
                *place.ok_or_else(|| missing("rodata"))? = link_header.to_ne_bytes();
            }
        }
        let object = object.load().map_err(refused(what))?;
        let [kept, flows, counters] = MAPS.map(|name| map_of(&object, name));
        let maps = ProxyMaps { settings: kept?, flows: flows?, counters: counters? };
        maps.set(settings)?;
        Ok(Self { object, maps, warnings: warnings() })
    }

    /// Warnings of libbpf and the verifier while the programs were loaded; usually none.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub const fn maps(&self) -> &ProxyMaps {
        &self.maps
    }

    fn program(&mut self, program: Program) -> Result<ProgramMut<'_>, BpfError> {
        let mut all = self.object.progs_mut();
        all.find(|of| of.name() == program.name()).ok_or_else(|| missing(program.name()))
    }

    /// Attaches the programs to a device of this thread's network namespace, by its interface index. They stay attached
    /// until they are detached or the device disappears.
    ///
    /// # Errors
    /// If the kernel refuses a program. No program is attached then.
    pub fn attach(&mut self, device: u32, hook: TcHook) -> Result<(), BpfError> {
        for &(program, is_egress) in hook.programs() {
            let what = format!("attaching {} to device {device}", program.name());
            let of = self.program(program)?;
            let mut filter = LibbpfHook::new(of.as_fd());
            place(&mut filter, device, program, is_egress).replace(true);
            let attached = filter.create().and_then(|mut filter| filter.attach());
            if let Err(why) = attached {
                // Programs that were attached before this one.
                let _ = detach(device, hook);
                return Err(refused(what)(why));
            }
        }
        Ok(())
    }

    /// Creates a folder in a BPF file system and pins the maps there, so that other processes can read and change them.
    ///
    /// # Errors
    /// If that is not possible. Nothing stays pinned then.
    pub fn pin(&mut self, folder: &Path) -> Result<(), BpfError> {
        fs::create_dir_all(folder).map_err(file("folder", folder))?;
        for mut map in self.object.maps_mut() {
            let name = map.name().to_owned();
            if !MAPS.iter().any(|pinned| name == *pinned) {
                continue;
            }
            if let Err(why) = map.pin(folder.join(name)) {
                // `edge clean list` shows what remains, and `detach` removes it.
                let _ = fs::remove_dir_all(folder);
                return Err(refused(format!("pinning in {}", folder.display()))(why));
            }
        }
        Ok(())
    }

    /// Runs a program on a frame, in a test run of the kernel. Returns the frame after the program and the mean
    /// duration of a run. The frame is a burst of segmentation offload if `segment_bytes` is above zero.
    ///
    /// # Errors
    /// If the kernel refuses the frame.
    pub fn run(
        &mut self, program: Program, frame: &[u8], segments: u32, segment_bytes: u32, repeat: u32,
    ) -> Result<(Vec<u8>, Duration), BpfError> {
        let (mut context, mut out) = ([0; CONTEXT], vec![0; frame.len() + 256]);
        context[GSO_SEGS..GSO_SEGS + 4].copy_from_slice(&segments.to_ne_bytes());
        context[GSO_SIZE..GSO_SIZE + 4].copy_from_slice(&segment_bytes.to_ne_bytes());
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(frame),
            data_out: Some(&mut out),
            repeat,
            ..ProgramInput::default()
        };
        let program = self.program(program)?;
        let output = program.test_run(input).map_err(refused("a test run"))?;
        let duration = output.duration;
        let frame = output.data.map(|data| data.to_vec()).unwrap_or_default();
        Ok((frame, duration))
    }
}

/// Sets the device, direction, priority and handle at which a program is attached.
fn place(filter: &mut LibbpfHook, device: u32, program: Program, is_egress: bool) -> &mut LibbpfHook {
    let point = if is_egress { TC_EGRESS } else { TC_INGRESS };
    filter.ifindex(device.cast_signed()).attach_point(point);
    filter.priority(PRIORITY).handle(1 + program as u32)
}

/// Detaches the programs of a proxy from a device of this thread's network namespace, if any are attached.
///
/// # Errors
/// If the kernel refuses to detach one.
pub fn detach(device: u32, hook: TcHook) -> Result<(), BpfError> {
    listen();
    for &(program, is_egress) in hook.programs() {
        let mut filter = LibbpfHook::new(std::io::stderr().as_fd());
        place(&mut filter, device, program, is_egress);
        match filter.detach() {
            Err(why) if !is_absent(&why) || filter.query().is_ok() => {
                let what = format!("detaching {} from device {device}", program.name());
                return Err(refused(what)(why));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Counts the programs of a proxy that are attached to a device of this thread's network namespace.
pub fn attached(device: u32, hook: TcHook) -> usize {
    listen();
    let is_there = |&&(program, is_egress): &&(Program, bool)| {
        let mut filter = LibbpfHook::new(std::io::stderr().as_fd());
        place(&mut filter, device, program, is_egress);
        filter.query().is_ok()
    };
    hook.programs().iter().filter(is_there).count()
}

/// Whether the error says that the filter, the queue discipline or the device does not exist.
fn is_absent(why: &libbpf_rs::Error) -> bool {
    use libbpf_rs::ErrorKind;
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) || why.to_string().contains(NO_DEVICE)
}

#[test]
fn a_failed_detach_is_no_missing_program() {
    let is_absent = |number| is_absent(&libbpf_rs::Error::from_raw_os_error(number));
    // ENOENT, ENODEV, EINVAL; then EPERM, EIO, ENOMEM, EBUSY.
    assert!([2, 19, 22].into_iter().all(is_absent) && ![1, 5, 12, 16].into_iter().any(is_absent));
}

#[derive(Debug)]
pub struct ProxyMaps {
    settings: MapHandle,
    flows: MapHandle,
    counters: MapHandle,
}

impl ProxyMaps {
    /// Opens the maps that a proxy has pinned in a folder of a BPF file system.
    ///
    /// # Errors
    /// If there are none.
    pub fn open(folder: &Path) -> Result<Self, BpfError> {
        listen();
        let pinned = |name| MapHandle::from_pinned_path(folder.join(name)).map_err(refused(name));
        let [settings, flows, counters] = MAPS.map(pinned);
        Ok(Self { settings: settings?, flows: flows?, counters: counters? })
    }

    /// Reads the settings of the proxy.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn settings(&self) -> Result<Settings, BpfError> {
        let what = "settings";
        let bytes = self.settings.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let bytes = bytes.map_err(refused(what))?.unwrap_or_default();
        Settings::from_bytes(&bytes, self.flows.max_entries()).ok_or_else(|| missing(what))
    }

    /// Changes the settings, at once and for all flows, except the size of the flow cache.
    ///
    /// # Errors
    /// If the map cannot be written.
    pub fn set(&self, settings: &Settings) -> Result<(), BpfError> {
        let bytes = settings.to_bytes();
        let written = self.settings.update(&0_u32.to_ne_bytes(), &bytes, MapFlags::ANY);
        written.map_err(refused("settings"))
    }

    /// Reads the counters, summed over processors.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn counters(&self) -> Result<Counters, BpfError> {
        let mut values = Vec::new();
        for number in 0..Counters::COUNT {
            let of = self.counters.lookup_percpu(&number.to_ne_bytes(), MapFlags::ANY);
            let of = of.map_err(refused("counters"))?.unwrap_or_default();
            let of = of.iter().filter_map(|bytes| bytes.first_chunk());
            values.push(of.map(|bytes| u64::from_ne_bytes(*bytes)).sum());
        }
        Ok(Counters::from_values(&values))
    }

    /// Reads the flows in the cache, ordered by their addresses.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn flows(&self) -> Result<Vec<Flow>, BpfError> {
        let mut all = Vec::new();
        for key in self.flows.keys() {
            // The flow may have been evicted since its key was read.
            let bytes = self.flows.lookup(&key, MapFlags::ANY).map_err(refused("flows"))?;
            all.extend(bytes.and_then(|bytes| Flow::from_bytes(&key, &bytes)));
        }
        all.sort_by_key(|flow| (flow.sender, flow.receiver));
        Ok(all)
    }
}
