//! What is written is read back.

use ng_wire::replica::{Frame, Message, PrepareHeader, encode_frame, frame_size, sealed_bytes};
use proptest::prelude::*;

use crate::values::{any_header, any_message};

proptest! {
    #[test]
    fn frames(message in any_message(), cluster in any::<u128>(), group in any::<u64>(), epoch in any::<u32>(), replica in any::<u8>()) {
        let frame = Frame { cluster, group, epoch, replica, message };
        let mut bytes = Vec::new();
        encode_frame(&frame, &mut bytes);
        prop_assert_eq!(bytes.len(), sealed_bytes(&frame.message));
        let payload = match &frame.message {
            Message::Prepare(prepare) => vec![7; prepare.header.body_bytes as usize],
            _ => Vec::new(),
        };
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
