//! Congestion controllers, loaded by libbpf.

use super::pins::MAPS;
use super::{Ecn, Law, MAX_CLASSES, Program, Settings, check_name, gemini_bytes, gemini_from_bytes, unpin};
use crate::error::file;
use crate::libbpf::{listen, missing, refused, warnings};
use crate::{BpfError, Connection, Prefix};
use libbpf_rs::{Iter, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};
use shallop_control::gemini::Integers;
use std::{ffi::OsStr, fs, io::Read, path::Path};

const GEMINI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gemini.o"));
const DCTCP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.o"));
const ECN_STAR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ecn_star.o"));
const VEGAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vegas.o"));

/// The offset of the member `flags` in `struct tcp_congestion_ops` of `c/kernel.h`, bytes, and `TCP_CONG_NEEDS_ECN`.
const FLAGS_AT: usize = 64;
const NEEDS_ECN: u8 = 2;
/// The offset of the member `name` in `struct tcp_congestion_ops` of `c/kernel.h`, bytes.
const NAME_AT: usize = 68;
/// The size of the member `name` in `struct tcp_congestion_ops`, bytes.
const NAME: usize = 16;
const CLASSES: &str = MAPS[0];
const PREFIXES: &str = MAPS[1];
/// The iterator program that reports connections.
const LIST: &str = "connections";

/// Opens the object file of a program and sets the name of the controller in it, and whether it asks for ECN itself.
fn open(program: Program, name: &str, ecn: Ecn) -> Result<OpenObject, BpfError> {
    check_name(name)?;
    listen();
    let bytes = match program {
        Program::Gemini => GEMINI,
        Program::Dctcp => DCTCP,
        Program::EcnStar => ECN_STAR,
        Program::Vegas => VEGAS,
    };
    let object = ObjectBuilder::default().open_memory(bytes);
    let mut object = object.map_err(refused("the program of a controller"))?;
    let mut text = [0; NAME];
    text[..name.len()].copy_from_slice(name.as_bytes());
    for mut map in object.maps_mut() {
        let at = match map.name().to_str() {
            Some(".data.name") => 0,
            Some(name) if name == program.default_name() => NAME_AT,
            _ => continue,
        };
        if let Some(place) = map.initial_value_mut().and_then(|of| of.get_mut(at..at + NAME)) {
            place.copy_from_slice(&text);
        }
        if at == NAME_AT
            && ecn == Ecn::BySysctl
            && let Some(flags) = map.initial_value_mut().and_then(|of| of.get_mut(FLAGS_AT))
        {
            // The flag is in the first byte of the little-endian word.
            *flags &= !NEEDS_ECN;
        }
    }
    Ok(object)
}

/// A congestion controller in the kernel. The kernel unregisters the controller when this value is dropped, unless it
/// is pinned.
#[derive(Debug)]
pub struct Controller {
    program: Program,
    object: Object,
    link: Link,
    warnings: Vec<String>,
}

impl Controller {
    /// Loads a controller under this name.
    ///
    /// # Errors
    /// If the kernel refuses it, for example because this process lacks capabilities, or if the name is in use.
    pub fn load(law: &Law, name: &str) -> Result<Self, BpfError> {
        Self::load_with(law, name, Ecn::Required)
    }

    /// Loads a controller under this name, whose connections negotiate ECN in this way.
    ///
    /// # Errors
    /// As [`Controller::load`].
    pub fn load_with(law: &Law, name: &str, ecn: Ecn) -> Result<Self, BpfError> {
        let program = law.program();
        let mut object = open(program, name, ecn)?;
        for mut list in object.progs_mut().filter(|of| of.name() == OsStr::new(LIST)) {
            // `Watch` loads this program when it is needed.
            list.set_autoload(false);
        }
        let object = object.load();
        let mut object = object.map_err(refused(format!("loading {name}")))?;
        if let Law::Gemini(set) = law {
            let classes = object.maps().find(|map| map.name() == OsStr::new(CLASSES));
            write_class(&classes.ok_or_else(|| missing(CLASSES))?, 0, set)?;
        }
        let of_program = OsStr::new(program.default_name());
        let controller = object.maps_mut().find(|map| map.name() == of_program);
        let link = controller.ok_or_else(|| missing("controller"))?.attach_struct_ops();
        let link = link.map_err(refused(format!("controller {name}")))?;
        let warnings = warnings();
        Ok(Self { program, object, link, warnings })
    }

    /// Warnings of libbpf and the verifier while the program was loaded; usually none.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Changes the settings for destinations of these prefixes; without any prefix, for all destinations outside of
    /// prefixes.
    ///
    /// # Errors
    /// If the controller is not Gemini, has no room for another prefix, or the kernel refuses the change.
    pub fn set(&self, set: &Integers, to: &[Prefix]) -> Result<(), BpfError> {
        let map = |name| self.object.maps().find(|map| map.name() == OsStr::new(name));
        let classes = map(CLASSES).ok_or_else(|| missing(CLASSES))?;
        let prefixes = map(PREFIXES).ok_or_else(|| missing(PREFIXES))?;
        write(&classes, &prefixes, set, to)
    }

    /// Creates a folder in a BPF file system and pins the controller there, so that it outlives this process. The link
    /// is pinned last.
    ///
    /// # Errors
    /// If that is not possible. Nothing stays pinned then, and new folders up to `root` are removed.
    pub fn pin(&mut self, folder: &Path, root: &Path) -> Result<(), BpfError> {
        fs::create_dir_all(folder.parent().unwrap_or(folder)).map_err(file("folder", folder))?;
        fs::create_dir(folder).map_err(file("folder", folder))?;
        let pinned = self.pin_all(folder);
        if pinned.is_err() {
            // `host list` shows what remains, and `unload` removes it.
            let _ = unpin(folder, root);
        }
        pinned
    }

    fn pin_all(&mut self, folder: &Path) -> Result<(), BpfError> {
        let what = format!("pinning in {}", folder.display());
        for mut map in self.object.maps_mut() {
            let name = map.name().to_owned();
            if [CLASSES, PREFIXES].iter().any(|pinned| name == OsStr::new(pinned)) {
                map.pin(folder.join(name)).map_err(refused(&what))?;
            }
        }
        self.link.pin(folder.join(self.program.default_name())).map_err(refused(what))
    }
}

fn write_class(classes: &impl MapCore, class: u32, set: &Integers) -> Result<(), BpfError> {
    let written = classes.update(&class.to_ne_bytes(), &gemini_bytes(set), MapFlags::ANY);
    written.map_err(refused(format!("class {class}")))
}

/// Reads all prefixes with their classes from the map, in order.
fn classes_of(prefixes: &impl MapCore) -> Result<Vec<(Prefix, u32)>, BpfError> {
    let mut all = Vec::new();
    for key in prefixes.keys() {
        let class = prefixes.lookup(&key, MapFlags::ANY).map_err(refused(PREFIXES))?;
        let class = class.and_then(|of| of.first_chunk().map(|of| u32::from_ne_bytes(*of)));
        all.extend(key.first_chunk().map(|key| Prefix::from_bytes(*key)).zip(class));
    }
    all.sort_unstable();
    Ok(all)
}

fn pinned(folder: &Path, name: &str) -> Result<MapHandle, BpfError> {
    MapHandle::from_pinned_path(folder.join(name)).map_err(refused(name))
}

/// Reads the settings of a pinned controller; empty if it is not Gemini.
///
/// # Errors
/// If the maps cannot be read.
pub fn settings(folder: &Path) -> Result<Settings, BpfError> {
    if !folder.join(CLASSES).exists() {
        return Ok(Settings::default());
    }
    let classes = pinned(folder, CLASSES)?;
    let class = |number: u32| -> Result<Option<Integers>, BpfError> {
        let bytes = classes.lookup(&number.to_ne_bytes(), MapFlags::ANY);
        Ok(bytes.map_err(refused(CLASSES))?.and_then(|bytes| gemini_from_bytes(&bytes)))
    };
    let mut to = Vec::new();
    for (prefix, number) in classes_of(&pinned(folder, PREFIXES)?)? {
        to.extend(class(number)?.map(|set| (prefix, set)));
    }
    Ok(Settings { base: class(0)?, to })
}

/// Changes the settings of a pinned controller for destinations of these prefixes; without any prefix, for all
/// destinations outside of prefixes. Open connections keep their class, and its settings change at once.
///
/// # Errors
/// If no controller is pinned in `folder`, its table of prefixes is full, or its maps cannot be written.
pub fn change(folder: &Path, set: &Integers, to: &[Prefix]) -> Result<(), BpfError> {
    write(&pinned(folder, CLASSES)?, &pinned(folder, PREFIXES)?, set, to)
}

/// Writes settings for destinations of these prefixes; without any prefix, for class 0. A new prefix gets the first
/// free class.
fn write(classes: &impl MapCore, prefixes: &impl MapCore, set: &Integers, to: &[Prefix]) -> Result<(), BpfError> {
    if to.is_empty() {
        return write_class(classes, 0, set);
    }
    for prefix in to {
        let known = classes_of(prefixes)?;
        let before = known.iter().find(|(of, _)| of == prefix).map(|&(_, class)| class);
        let is_taken = |class: &u32| known.iter().any(|(_, of)| of == class);
        let class = before.or_else(|| (1..MAX_CLASSES).find(|class| !is_taken(class)));
        let class = class.ok_or_else(|| {
            BpfError::Name(format!("at most {} prefixes have settings of their own", MAX_CLASSES - 1))
        })?;
        write_class(classes, class, set)?;
        let written = prefixes.update(&prefix.to_bytes(), &class.to_ne_bytes(), MapFlags::ANY);
        written.map_err(refused(format!("prefix {prefix}")))?;
    }
    Ok(())
}

/// The iterator program that reports the connections of a controller in the network namespace of this thread.
#[derive(Debug)]
pub struct Watch {
    link: Link,
    _object: Object,
}

impl Watch {
    /// Loads the iterator program for the controller with this program and name.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open(program: Program, name: &str) -> Result<Self, BpfError> {
        let what = "the list of connections";
        let mut object = open(program, name, Ecn::Required)?;
        let of_program = OsStr::new(program.default_name());
        for mut map in object.maps_mut().filter(|map| map.name() == of_program) {
            // The iterator needs no second controller: without its map, none of the controller's programs is loaded.
            map.set_autocreate(false).map_err(refused(what))?;
        }
        let object = object.load().map_err(refused(what))?;
        let list = object.progs_mut().find(|of| of.name() == OsStr::new(LIST));
        let link = list.ok_or_else(|| missing(LIST))?.attach();
        Ok(Self { link: link.map_err(refused(what))?, _object: object })
    }

    /// Reports the state of each connection at this moment.
    ///
    /// # Errors
    /// If the kernel refuses the iteration.
    pub fn connections(&self) -> Result<Vec<Connection>, BpfError> {
        let what = "the list of connections";
        let mut all = Vec::new();
        let mut list = Iter::new(&self.link).map_err(refused(what))?;
        let read = list.read_to_end(&mut all);
        read.map_err(|why| BpfError::File { what: what.to_owned(), why })?;
        Ok(Connection::all(&all))
    }
}
