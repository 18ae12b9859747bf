use std::hash::Hasher as _;

use crate::checksum::Xxh3;

/// Bytes that are hashed in one go.
const GATHERED_BYTES: usize = 256;

/// The checksum of a batch as it comes to be: of its fields, then of the checksums of its messages.
pub(super) struct Seal {
    hash: Xxh3,
    gathered: [u8; GATHERED_BYTES],
    used: usize,
}

impl Seal {
    pub(super) fn new<const N: usize>(fields: &[u8; N]) -> Self {
        const { assert!(N <= GATHERED_BYTES) };
        let mut gathered = [0; GATHERED_BYTES];
        gathered[..N].copy_from_slice(fields);
        Self { hash: Xxh3::new(), gathered, used: N }
    }

    /// The checksum of the next message.
    pub(super) fn add(&mut self, checksum: u64) {
        let place = match self.gathered[self.used..].first_chunk_mut() {
            Some(place) => place,
            None => {
                self.hash.write(&self.gathered[..self.used]);
                self.used = 0;
                self.gathered.first_chunk_mut().expect("it was made empty")
            }
        };
        *place = checksum.to_le_bytes();
        self.used += place.len();
    }

    pub(super) fn finish(mut self) -> u64 {
        self.hash.write(&self.gathered[..self.used]);
        self.hash.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Seal;
    use crate::checksum::xxh3_64;

    #[test]
    fn it_is_the_hash_of_all_at_once() {
        let fields = [7; 44];
        for count in 0..100_u64 {
            let (mut seal, mut bytes) = (Seal::new(&fields), fields.to_vec());
            for checksum in (0..count).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                seal.add(checksum);
                bytes.extend_from_slice(&checksum.to_le_bytes());
            }
            assert_eq!(seal.finish(), xxh3_64(&bytes), "{count} messages");
        }
    }
}
