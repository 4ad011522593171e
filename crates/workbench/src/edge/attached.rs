//! Proxies that are attached to devices and stay: each has a folder in the BPF file system with its maps. A folder is
//! there before anything is attached and until all of it is detached, so that what a killed command has left is listed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};
use shallop_bpf::clean::{self, Config, Counters, Flow, Proxy, ProxyMaps, Settings, TcHook};
use shallop_bpf::machine::BPF_FILE_SYSTEM;
use shallop_core::Bytes;
use shallop_linux::device::Device;

use super::{WantedShaper, changed, check_device};
use crate::controllers::{keeps, of_bpf, ready};
use crate::diagnostic::{Report, Result, plain, with_help};

/// Where maps are pinned, and the uppermost folder that is made for them.
const FOLDER: &str = "/sys/fs/bpf/shallop/edge";
const ROOT: &str = "/sys/fs/bpf/shallop";
/// What says which network namespace this is.
const NAMESPACE: &str = "/proc/thread-self/ns/net";
/// The folder within that of a device that says that its clsact is ours.
const OWN_CLSACT: &str = "clsact";

/// What a device is for the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads to the receivers.
    LastHop,
    /// Packets enter the network by it.
    Edge,
}

impl Role {
    /// Both, with their names.
    pub const ALL: [(Self, &str); 2] = [(Self::LastHop, "last-hop"), (Self::Edge, "edge")];

    /// Its name.
    #[must_use]
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

/// What is there of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Attached,
    /// The device is gone, and its programs with it.
    DeviceGone,
    /// What a command has left that was ended while it attached or detached.
    Part,
}

/// A proxy at a device of this network namespace.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The name of the device now, or its last one if it is gone.
    pub device: String,
    /// Its name when the proxy was attached.
    pub attached_as: String,
    /// What the device is for it.
    pub role: Role,
    /// What is there of it.
    pub state: State,
    /// The number of the device, which it keeps under all its names.
    index: u32,
    folder: PathBuf,
}

/// Says which device something was tried with.
fn of_device(name: &str) -> impl Fn(io::Error) -> Report {
    let name = name.to_owned();
    move |why| plain(&format!("device \"{name}\": {why}"))
}

/// The folder of this network namespace; names of devices are known in one only.
fn own_folder() -> Result<PathBuf> {
    let about = fs::metadata(NAMESPACE).map_err(|why| plain(&format!("{NAMESPACE}: {why}")))?;
    Ok(Path::new(FOLDER).join(about.ino().to_string()))
}

/// The number and name of a device as the name of a folder: the BPF file system has no dots in names.
fn folder_name(index: u32, device: &str) -> String {
    format!("{index}:{}", device.replace('.', "+"))
}

/// The name of the device of this number in this thread's network namespace, if there is one.
fn name_of(index: u32) -> Option<String> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    index_to_name(&socket, index).ok()
}

/// As long as this is there, no other command attaches or detaches.
fn alone() -> Result<File> {
    let told = |why: io::Error| plain(&format!("{BPF_FILE_SYSTEM}: {why}"));
    let folder = File::open(BPF_FILE_SYSTEM).map_err(told)?;
    flock(&folder, FlockOperation::LockExclusive).map_err(|why| told(why.into()))?;
    Ok(folder)
}

impl Attached {
    /// All of them in this network namespace, by device.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn all() -> Result<Vec<Self>> {
        let own = own_folder()?;
        let mut all = Vec::new();
        for (role, name) in Role::ALL {
            let entries = fs::read_dir(own.join(name)).into_iter().flatten().flatten();
            for entry in entries {
                let Ok(name) = entry.file_name().into_string() else { continue };
                all.extend(Self::at(&name, role, entry.path()));
            }
        }
        all.sort_by(|a, b| (&a.device, a.role.name()).cmp(&(&b.device, b.role.name())));
        Ok(all)
    }

    /// That of a folder with this name, if it is one of ours.
    fn at(name: &str, role: Role, folder: PathBuf) -> Option<Self> {
        let (index, attached_as) = name.split_once(':')?;
        let index = index.parse().ok()?;
        let attached_as = attached_as.replace('+', ".");
        let programs = clean::attached(index, role.hook());
        // With another name and without our programs it is another device, which has the number of one that is gone.
        let is_same = |now: &String| programs > 0 || folder_name(index, now) == name;
        let now = name_of(index).filter(is_same);
        let state = match &now {
            None => State::DeviceGone,
            Some(_) if programs < role.hook().programs().len() => State::Part,
            Some(_) if ProxyMaps::open(&folder).is_err() => State::Part,
            Some(_) => State::Attached,
        };
        let device = now.unwrap_or_else(|| attached_as.clone());
        Some(Self { device, attached_as, role, state, index, folder })
    }

    /// Those at this device, or all. If none is at a device of this name, those that were attached under it.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(device: Option<&str>) -> Result<Vec<Self>> {
        let all = Self::all()?;
        let Some(device) = device else { return Ok(all) };
        let known: Vec<String> = all.iter().map(|of| of.device.clone()).collect();
        let is_here = |of: &Self| of.device == device && of.state != State::DeviceGone;
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

    /// Attaches a proxy to a device. Pins of one whose programs are at no device are removed first: a command that was
    /// killed has left them, or a network namespace that is gone and had the number of this one.
    ///
    /// # Errors
    /// If this machine cannot, there is no such device, or a proxy is there. Nothing is left then.
    pub fn attach(
        device: &str,
        role: Role,
        config: &Config,
        shaper: Option<WantedShaper>,
    ) -> Result<Self> {
        check_device(device)?;
        ready()?;
        keeps()?;
        let _alone = alone()?;
        let mut found = Device::named(device).map_err(of_device(device))?;
        Self::make_room(device, role, found.index)?;
        let folder = own_folder()?.join(role.name()).join(folder_name(found.index, device));
        let shaper = shaper.map(WantedShaper::resolved).transpose()?;
        if let (Some(_), Some(root)) = (shaper, found.root().map_err(of_device(device))?) {
            let what = format!("device \"{device}\" has the queue discipline {root} at its root");
            let help = format!("take it out: tc qdisc del dev {device} root");
            return Err(with_help(&what, &help));
        }
        let [name, attached_as] = [device; 2].map(str::to_owned);
        let (state, index) = (State::Attached, found.index);
        let attached = Self { device: name, attached_as, role, state, index, folder };
        let settings = Settings { config: *config, shaper: shaper.map(|(shaper, _)| shaper) };
        let done = attached.put(&mut found, &settings, shaper.map(|(_, buffer)| buffer));
        if let Err(why) = done {
            // What remains of it is listed, and can be detached.
            let _ = attached.take_away();
            return Err(why);
        }
        Ok(attached)
    }

    /// Removes what is left of a proxy at this device that has no programs there.
    fn make_room(device: &str, role: Role, index: u32) -> Result<()> {
        let is_here = |of: &Self| of.role == role && (of.index == index || of.device == device);
        for of in Self::all()?.into_iter().filter(is_here) {
            if clean::attached(of.index, role.hook()) > 0 && of.state != State::DeviceGone {
                let what = format!("there is a proxy at \"{device}\" already");
                return Err(with_help(&what, &format!("shallop edge clean detach {device}")));
            }
            of.take_away()?;
        }
        Ok(())
    }

    /// Does each step of attaching in the order in which a later one shows that the earlier ones were done.
    fn put(&self, device: &mut Device, settings: &Settings, buffer: Option<Bytes>) -> Result<()> {
        let of_device = of_device(&self.device);
        let mut proxy = Proxy::load(settings, device.link_header).map_err(|why| of_bpf(&why))?;
        proxy.pin(&self.folder).map_err(|why| of_bpf(&why))?;
        if !device.has_clsact().map_err(&of_device)? {
            let own = self.folder.join(OWN_CLSACT);
            fs::create_dir(&own).map_err(|why| plain(&format!("{}: {why}", own.display())))?;
        }
        if let (Some(shaper), Some(buffer)) = (settings.shaper, buffer) {
            device.shape(shaper.rate, buffer).map_err(&of_device)?;
        }
        proxy.attach(device.index, self.role.hook()).map_err(|why| of_bpf(&why))
    }

    fn maps(&self) -> Result<ProxyMaps> {
        if self.state == State::Part {
            let what = format!("only a part of the proxy at \"{}\" is there", self.device);
            return Err(with_help(&what, &format!("shallop edge clean detach {}", self.device)));
        }
        ProxyMaps::open(&self.folder).map_err(|why| of_bpf(&why))
    }

    /// What is set of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn settings(&self) -> Result<Settings> {
        self.maps()?.settings().map_err(|why| of_bpf(&why))
    }

    /// Changes what is set of it, at once and for all flows.
    ///
    /// # Errors
    /// If a setting is wrong, or cannot be written.
    pub fn change(&self, changes: &[(String, String)]) -> Result<()> {
        if self.role == Role::Edge {
            return Err(plain(&format!("nothing can be set of the edge at \"{}\"", self.device)));
        }
        let maps = self.maps()?;
        let before = maps.settings().map_err(|why| of_bpf(&why))?;
        let config = changed(&before.config, changes)?;
        maps.set(&Settings { config, ..before }).map_err(|why| of_bpf(&why))
    }

    /// What its programs have counted, and the flows that it keeps.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn counted(&self) -> Result<(Counters, Vec<Flow>)> {
        let maps = self.maps()?;
        let counters = maps.counters().map_err(|why| of_bpf(&why))?;
        Ok((counters, maps.flows().map_err(|why| of_bpf(&why))?))
    }

    /// Takes it away, with everything that was made for it. Returns whether programs of others are at the device, so
    /// that the place for them stays.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn detach(&self) -> Result<bool> {
        let _alone = alone()?;
        self.take_away()
    }

    fn take_away(&self) -> Result<bool> {
        let mut others = false;
        let now = if self.state == State::DeviceGone { None } else { name_of(self.index) };
        if let Some(now) = now {
            let of_device = of_device(&now);
            let mut device = Device::named(&now).map_err(&of_device)?;
            clean::detach(device.index, self.role.hook()).map_err(|why| of_bpf(&why))?;
            let settings = ProxyMaps::open(&self.folder).and_then(|maps| maps.settings());
            if settings.is_ok_and(|settings| settings.shaper.is_some()) {
                device.unshape().map_err(&of_device)?;
            }
            if self.folder.join(OWN_CLSACT).exists() {
                others = !device.remove_unused_clsact().map_err(&of_device)?
                    && !self.hand_on_clsact()?;
            }
        }
        self.unpin().map_err(|why| plain(&format!("{}: {why}", self.folder.display())))?;
        Ok(others)
    }

    /// Leaves clsact to the proxy of another role at this device, which removes it then. Returns whether there is one.
    fn hand_on_clsact(&self) -> Result<bool> {
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
            // Not empty: another proxy or controller is there.
            if fs::remove_dir(above).is_err() {
                break;
            }
        }
        Ok(())
    }
}
