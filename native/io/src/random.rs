//! Bytes that nobody can foretell.

use std::fs::File;
use std::io::Read as _;

use crate::error::IoError;

const SOURCE: &str = "/dev/urandom";

pub(crate) fn fill(into: &mut [u8]) -> Result<(), IoError> {
    File::open(SOURCE)
        .and_then(|mut source| source.read_exact(into))
        .map_err(|error| IoError::from_io("read /dev/urandom", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_not_repeated() {
        let draw = || {
            let mut bytes = [0; 16];
            fill(&mut bytes).expect("a source of random numbers");
            bytes
        };
        let mut drawn: Vec<_> = (0..64).map(|_| draw()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 64);
    }
}
