//! What is written is read back.

use ng_wire::replica::{Frame, PrepareHeader, encode_frame, frame_size, sealed_bytes};
use proptest::prelude::*;

use crate::values::{any_content, any_header};

proptest! {
    #[test]
    fn frames(content in any_content(), cluster in any::<u128>(), group in 1..=u64::MAX, epoch in any::<u32>(), replica in any::<u8>()) {
        let (group, epoch) = if content.is_of_a_group() { (group, epoch) } else { (0, 0) };
        let frame = Frame { cluster, group, epoch, replica, content };
        let mut bytes = Vec::new();
        encode_frame(&frame, &mut bytes);
        prop_assert_eq!(bytes.len(), sealed_bytes(&frame.content));
        let payload = vec![7; frame.content.payload_bytes() as usize];
        bytes.extend_from_slice(&payload);
        let size = frame_size(bytes.first_chunk().expect("a header"), 1 << 20);
        prop_assert_eq!(size.map(|size| size as usize), Ok(bytes.len()));
        prop_assert_eq!(Frame::decode(&bytes), Ok((frame, payload.as_slice())));
    }

    #[test]
    fn prepare_headers(header in any_header()) {
        prop_assert_eq!(PrepareHeader::decode(&header.encode()), Ok(header));
    }
}
