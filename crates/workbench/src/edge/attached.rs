//! CLEAN proxies that stay attached to devices after the command: each has a folder of pinned maps in the BPF file
//! system. The folder is created before the programs are attached and removed after they are detached, so that a proxy
//! of a killed command is still listed.

use super::{ShaperOptions, changed, check_device};
use crate::controllers::{bpf_error, check_file_system, check_machine};
use crate::diagnostic::{Report, Result, plain, with_help};
use rustix::fs::{FlockOperation, flock};
use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};
use shallop_bpf::clean::{self, Config, Counters, Flow, Proxy, ProxyMaps, Settings, TcHook};
use shallop_bpf::machine::BPF_FILE_SYSTEM;
use shallop_core::Bytes;
use shallop_linux::device::Device;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{io, os::unix::fs::MetadataExt};

/// The folder in the BPF file system with a folder of pinned maps for each proxy.
const FOLDER: &str = "/sys/fs/bpf/shallop/edge";
const ROOT: &str = "/sys/fs/bpf/shallop";
/// The file whose inode identifies the network namespace of this thread.
const NAMESPACE: &str = "/proc/thread-self/ns/net";
/// The name of a marker folder beside the maps: this program added the device's `clsact` and has to remove it.
const OWN_CLSACT: &str = "clsact";

/// The task of a device in a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyRole {
    /// The device leads to the receivers: marks are counted and cleared, and windows reduced.
    LastHop,
    /// Packets enter the network at this device and become ECN-capable.
    Edge,
}

impl ProxyRole {
    pub const ALL: [(Self, &str); 2] = [(Self::LastHop, "last-hop"), (Self::Edge, "edge")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(of, _)| *of == self).map_or("", |(_, name)| name)
    }

    const fn hook(self) -> TcHook {
        match self {
            Self::LastHop => TcHook::LastHop,
            Self::Edge => TcHook::Edge,
        }
    }
}

/// Which parts of a proxy exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyState {
    Attached,
    /// The device was removed, and its programs with it.
    DeviceGone,
    /// A command was killed while it attached or detached the proxy.
    Part,
}

/// A CLEAN proxy that is attached to a device of this network namespace.
#[derive(Clone, Debug)]
pub struct AttachedProxy {
    /// The current name of the device, or its last name if it was removed.
    pub device: String,
    /// The name of the device when the proxy was attached.
    pub attached_as: String,
    pub role: ProxyRole,
    pub state: ProxyState,
    /// The interface index, which stays when the device is renamed.
    index: u32,
    folder: PathBuf,
}

fn of_device(name: &str) -> impl Fn(io::Error) -> Report {
    let name = name.to_owned();
    move |why| plain(&format!("device \"{name}\": {why}"))
}

/// The folder of the proxies in this network namespace: device names are unique only within a namespace.
fn own_folder() -> Result<PathBuf> {
    let about = fs::metadata(NAMESPACE).map_err(|why| plain(&format!("{NAMESPACE}: {why}")))?;
    Ok(Path::new(FOLDER).join(about.ino().to_string()))
}

/// The folder name for a device, `INDEX:NAME`. The BPF file system allows no dots in names, so they become `+`.
fn folder_name(index: u32, device: &str) -> String {
    format!("{index}:{}", device.replace('.', "+"))
}

/// The current name of the device with this index in this thread's network namespace.
fn name_of(index: u32) -> Option<String> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    index_to_name(&socket, index).ok()
}

/// Locks the list of proxies against other commands until the file is closed.
fn lock_proxies() -> Result<File> {
    let told = |why: io::Error| plain(&format!("{BPF_FILE_SYSTEM}: {why}"));
    let folder = File::open(BPF_FILE_SYSTEM).map_err(told)?;
    flock(&folder, FlockOperation::LockExclusive).map_err(|why| told(why.into()))?;
    Ok(folder)
}

impl AttachedProxy {
    /// All proxies in this network namespace, sorted by device.
    pub fn all() -> Result<Vec<Self>> {
        let own = own_folder()?;
        let mut all = Vec::new();
        for (role, name) in ProxyRole::ALL {
            let entries = fs::read_dir(own.join(name)).into_iter().flatten().flatten();
            for entry in entries {
                let Ok(name) = entry.file_name().into_string() else { continue };
                all.extend(Self::at(&name, role, entry.path()));
            }
        }
        all.sort_by(|a, b| (&a.device, a.role.name()).cmp(&(&b.device, b.role.name())));
        Ok(all)
    }

    /// Reads a proxy from the name of its folder; `None` if this program does not make such names.
    fn at(name: &str, role: ProxyRole, folder: PathBuf) -> Option<Self> {
        let (index, attached_as) = name.split_once(':')?;
        let index = index.parse().ok()?;
        let attached_as = attached_as.replace('+', ".");
        let programs = clean::attached(index, role.hook());
        // A device that was renamed and lost our programs is a new device that reuses the index.
        let is_same = |now: &String| programs > 0 || folder_name(index, now) == name;
        let now = name_of(index).filter(is_same);
        let state = match &now {
            None => ProxyState::DeviceGone,
            Some(_) if programs < role.hook().programs().len() => ProxyState::Part,
            Some(_) if ProxyMaps::open(&folder).is_err() => ProxyState::Part,
            Some(_) => ProxyState::Attached,
        };
        let device = now.unwrap_or_else(|| attached_as.clone());
        Some(Self { device, attached_as, role, state, index, folder })
    }

    /// The proxies at this device, or all of them without a device. A name that no device has now finds the proxies
    /// that were attached under it.
    pub fn find(device: Option<&str>) -> Result<Vec<Self>> {
        let all = Self::all()?;
        let Some(device) = device else { return Ok(all) };
        let known: Vec<String> = all.iter().map(|of| of.device.clone()).collect();
        let is_here = |of: &Self| of.device == device && of.state != ProxyState::DeviceGone;
        for is_meant in [&is_here as &dyn Fn(&Self) -> bool, &|of| of.attached_as == device] {
            let found: Vec<Self> = all.iter().filter(|of| is_meant(of)).cloned().collect();
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let help = match known[..] {
            [] => "shallop edge clean attach puts one there".to_owned(),
            _ => format!("there are proxies at {}", known.join(", ")),
        };
        Err(with_help(&format!("there is no proxy at \"{device}\""), &help))
    }

    /// Attaches a proxy to a device. Pins without programs are removed first: they are left by a killed command, or by
    /// a removed network namespace whose inode number this one has.
    ///
    /// # Errors
    /// If the machine cannot attach it, or a proxy is there already. Nothing stays attached then.
    pub fn attach(device: &str, role: ProxyRole, config: &Config, shaper: Option<ShaperOptions>) -> Result<Self> {
        check_device(device)?;
        check_machine()?;
        check_file_system()?;
        let _lock = lock_proxies()?;
        let mut found = Device::named(device).map_err(of_device(device))?;
        Self::remove_stale(device, role, found.index)?;
        let folder = own_folder()?.join(role.name()).join(folder_name(found.index, device));
        let shaper = shaper.map(ShaperOptions::resolved).transpose()?;
        if let (Some(_), Some(root)) = (shaper, found.root().map_err(of_device(device))?) {
            let what = format!("device \"{device}\" has the queue discipline {root} at its root");
            let help = format!("take it out: tc qdisc del dev {device} root");
            return Err(with_help(&what, &help));
        }
        let [name, attached_as] = [device; 2].map(str::to_owned);
        let (state, index) = (ProxyState::Attached, found.index);
        let attached = Self { device: name, attached_as, role, state, index, folder };
        let settings = Settings { config: *config, shaper: shaper.map(|(shaper, _)| shaper) };
        let done = attached.attach_parts(&mut found, &settings, shaper.map(|(_, buffer)| buffer));
        if let Err(why) = done {
            // If this fails too, the rest is listed and can be detached.
            let _ = attached.remove();
            return Err(why);
        }
        Ok(attached)
    }

    /// Removes pins of earlier proxies at this device whose programs are gone.
    fn remove_stale(device: &str, role: ProxyRole, index: u32) -> Result<()> {
        let is_here = |of: &Self| of.role == role && (of.index == index || of.device == device);
        for of in Self::all()?.into_iter().filter(is_here) {
            if clean::attached(of.index, role.hook()) > 0 && of.state != ProxyState::DeviceGone {
                let what = format!("there is a proxy at \"{device}\" already");
                return Err(with_help(&what, &format!("shallop edge clean detach {device}")));
            }
            of.remove()?;
        }
        Ok(())
    }

    /// Attaches step by step. The order lets `remove` conclude from a later step that the earlier ones were done.
    fn attach_parts(&self, device: &mut Device, settings: &Settings, buffer: Option<Bytes>) -> Result<()> {
        let of_device = of_device(&self.device);
        let mut proxy = Proxy::load(settings, device.link_header).map_err(|why| bpf_error(&why))?;
        proxy.pin(&self.folder).map_err(|why| bpf_error(&why))?;
        if !device.has_clsact().map_err(&of_device)? {
            let own = self.folder.join(OWN_CLSACT);
            fs::create_dir(&own).map_err(|why| plain(&format!("{}: {why}", own.display())))?;
        }
        if let (Some(shaper), Some(buffer)) = (settings.shaper, buffer) {
            device.shape(shaper.rate, buffer).map_err(&of_device)?;
        }
        proxy.attach(device.index, self.role.hook()).map_err(|why| bpf_error(&why))
    }

    fn maps(&self) -> Result<ProxyMaps> {
        if self.state == ProxyState::Part {
            let what = format!("the proxy at \"{}\" is incomplete: a command was killed", self.device);
            return Err(with_help(&what, &format!("shallop edge clean detach {}", self.device)));
        }
        ProxyMaps::open(&self.folder).map_err(|why| bpf_error(&why))
    }

    pub fn settings(&self) -> Result<Settings> {
        self.maps()?.settings().map_err(|why| bpf_error(&why))
    }

    /// Changes settings of all flows at once.
    pub fn change(&self, changes: &[(String, String)]) -> Result<()> {
        if self.role == ProxyRole::Edge {
            return Err(plain(&format!("nothing can be set of the edge at \"{}\"", self.device)));
        }
        let maps = self.maps()?;
        let before = maps.settings().map_err(|why| bpf_error(&why))?;
        let config = changed(&before.config, changes)?;
        maps.set(&Settings { config, ..before }).map_err(|why| bpf_error(&why))
    }

    /// Reads the counters of the proxy's programs, and the flows in its flow table.
    pub fn counted(&self) -> Result<(Counters, Vec<Flow>)> {
        let maps = self.maps()?;
        let counters = maps.counters().map_err(|why| bpf_error(&why))?;
        Ok((counters, maps.flows().map_err(|why| bpf_error(&why))?))
    }

    /// Detaches the proxy and removes its pins. Returns true if `clsact` stays because other programs use it.
    pub fn detach(&self) -> Result<bool> {
        let _lock = lock_proxies()?;
        self.remove()
    }

    fn remove(&self) -> Result<bool> {
        let mut others = false;
        let now = if self.state == ProxyState::DeviceGone { None } else { name_of(self.index) };
        if let Some(now) = now {
            let of_device = of_device(&now);
            let mut device = Device::named(&now).map_err(&of_device)?;
            clean::detach(device.index, self.role.hook()).map_err(|why| bpf_error(&why))?;
            let settings = ProxyMaps::open(&self.folder).and_then(|maps| maps.settings());
            if settings.is_ok_and(|settings| settings.shaper.is_some()) {
                device.unshape().map_err(&of_device)?;
            }
            if self.folder.join(OWN_CLSACT).exists() {
                others = !device.remove_unused_clsact().map_err(&of_device)? && !self.pass_on_clsact()?;
            }
        }
        self.unpin().map_err(|why| plain(&format!("{}: {why}", self.folder.display())))?;
        Ok(others)
    }

    /// Makes a proxy of the other role at this device responsible for removing `clsact`; false if there is none.
    fn pass_on_clsact(&self) -> Result<bool> {
        let is_other = |of: &Self| of.index == self.index && of.role != self.role;
        let Some(other) = Self::all()?.into_iter().find(is_other) else { return Ok(false) };
        let own = other.folder.join(OWN_CLSACT);
        fs::create_dir_all(&own).map_err(|why| plain(&format!("{}: {why}", own.display())))?;
        Ok(true)
    }

    fn unpin(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { fs::remove_dir(path)? } else { fs::remove_file(path)? }
        }
        fs::remove_dir(&self.folder)?;
        for above in self.folder.ancestors().skip(1).take_while(|above| above.starts_with(ROOT)) {
            // The folder of another proxy or controller keeps it from being empty.
            if fs::remove_dir(above).is_err() {
                break;
            }
        }
        Ok(())
    }
}
