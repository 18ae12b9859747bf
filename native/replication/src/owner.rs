//! Maps each group to its shard.

/// The group of streams, topics, users and sessions. Every other group holds one partition.
pub const METADATA: u64 = 1 << 63;

/// The shard of a group on a node with `shards` shards. Metadata is on shard 0.
///
/// The low twelve bits of a group number count the partitions of a topic. So consecutive partitions are on
/// different shards, and topics begin at different ones.
#[must_use]
pub fn owner(group: u64, shards: u16) -> u16 {
    if group == METADATA {
        return 0;
    }
    let place = mix(group >> 12).wrapping_add(group & 4095) % u64::from(shards.max(1));
    u16::try_from(place).unwrap_or(0)
}

/// Spreads every bit of a number over all bits.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partitions_of_a_topic_go_round_all_shards() {
        for topic in 0..100_u64 {
            let mut counts = [0; 4];
            for partition in 0..40 {
                counts[usize::from(owner(topic << 12 | partition, 4))] += 1;
            }
            assert_eq!(counts, [10; 4]);
        }
    }

    #[test]
    fn metadata_lives_on_the_first_shard() {
        assert!((1..64).all(|shards| owner(METADATA, shards) == 0));
    }
}
