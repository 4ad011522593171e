//! The initial file system of a kernel: an uncompressed cpio archive in the "newc" format
//! (`Documentation/driver-api/early-userspace/buffer-format.rst`). Times and owners are zero, so the archive depends
//! only on its contents.

/// The file type and permissions of each kind of entry.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const DEVICE: u32 = 0o020_600;
/// Major and minor number of the console.
const CONSOLE: [u32; 2] = [5, 1];

/// Makes an archive with this program as `/init`, these files in its root, the mount points that the agent needs, and a
/// console.
pub fn archive(init: &[u8], files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(init.len() + 8_192);
    for folder in ["dev", "proc", "sys", "tmp"] {
        entry(&mut bytes, folder, FOLDER, [0; 2], &[]);
    }
    entry(&mut bytes, "dev/console", DEVICE, CONSOLE, &[]);
    entry(&mut bytes, "init", PROGRAM, [0; 2], init);
    for (name, contents) in files {
        entry(&mut bytes, name, FILE, [0; 2], contents);
    }
    entry(&mut bytes, "TRAILER!!!", 0, [0; 2], &[]);
    bytes
}

fn entry(to: &mut Vec<u8>, name: &str, mode: u32, device: [u32; 2], contents: &[u8]) {
    // Inode, mode, uid, gid, links, mtime, size, device (major, minor), rdev (major, minor), size of the name,
    // checksum.
    let inode = to.len() as u32;
    let [major, minor] = device;
    let (length, name_length) = (contents.len() as u32, name.len() as u32 + 1);
    let fields = [inode, mode, 0, 0, 1, 0, length, 0, 0, major, minor, name_length, 0];
    to.extend_from_slice(b"070701");
    for field in fields {
        to.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    to.extend_from_slice(name.as_bytes());
    to.push(0);
    pad(to);
    to.extend_from_slice(contents);
    pad(to);
}

fn pad(to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_begins_at_a_multiple_of_four_with_its_magic() {
        let bytes = archive(b"12345", &[("orders".to_owned(), b"host 0\n".to_vec())]);
        let text = String::from_utf8_lossy(&bytes);
        let starts: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 8);
        assert!(starts.iter().all(|at| at % 4 == 0));
        assert_eq!(bytes.len() % 4, 0);
        assert!(text.contains("init\0") && text.contains("12345") && text.contains("host 0\n"));
    }

    #[test]
    fn the_same_contents_give_the_same_bytes() {
        let files = [("b".to_owned(), b"c".to_vec())];
        assert_eq!(archive(b"a", &files), archive(b"a", &files));
    }
}
