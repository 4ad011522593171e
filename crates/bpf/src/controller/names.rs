//! Names of controllers that the kernel accepts.

use crate::error::BpfError;

/// The longest name of a controller, bytes (`TCP_CA_NAME_MAX` without the terminating zero).
const LONGEST: usize = 15;

/// Checks a name for a controller.
///
/// # Errors
/// If the kernel or a BPF file system would not accept it.
pub fn check_name(name: &str) -> Result<(), BpfError> {
    // The rule of Linux's `bpf_obj_name_cpy`, without dots, which a BPF file system does not allow in folder names.
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(BpfError::Name(format!(
        "\"{name}\" cannot be the name of a controller: it has 1 to {LONGEST} letters, digits and underscores"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_what_the_kernel_has_for_them() {
        assert!(["gemini_1234567", "2", "fifteen_letters"].iter().all(|name| check_name(name).is_ok()));
        for wrong in ["", "a/b", "sixteen_letters_", "a b", "a.b", "a-b", "\u{e9}"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
