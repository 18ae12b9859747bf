//! What columns take from the user headers of a message.

use ng_wire::batch::{HeaderField, KIND_BOOL, KIND_STRING, MessageFrame, UserHeader, UserHeaders};

use super::arena::Lists;

/// The name of the header that makes a message a tombstone.
const TOMBSTONE: &[u8] = b"tombstone";

/// The value of the first header of that name.
fn field_of<'a>(user_headers: &'a [u8], name: &[u8]) -> Option<HeaderField<'a>> {
    let mut headers = UserHeaders::new(user_headers).map_while(Result::ok);
    headers.find(|header| header.key.bytes == name).map(|header| header.value)
}

/// The bytes of that value.
pub(crate) fn header_value<'a>(user_headers: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    field_of(user_headers, name).map(|value| value.bytes)
}

/// Whether a message deletes its key: a header says so, or it has no payload.
pub(crate) fn is_tombstone(message: &MessageFrame<'_>) -> bool {
    let said = || field_of(message.user_headers, TOMBSTONE);
    message.payload.is_empty()
        || said().is_some_and(|value| match value.kind {
            KIND_BOOL => value.bytes == [1],
            KIND_STRING => value.bytes == b"true",
            _ => false,
        })
}

/// Appends the list of a row; a null where the bytes are no headers, or a name is not text.
pub(super) fn append(lists: &mut Lists<'_>, user_headers: &[u8]) {
    let marks = (lists.keys.mark(), lists.kinds.used(), lists.values.mark());
    for header in UserHeaders::new(user_headers) {
        let Some(UserHeader { key, value }) = header.ok().filter(has_text_name) else {
            lists.keys.back_to(marks.0);
            lists.kinds.back_to(marks.1);
            lists.values.back_to(marks.2);
            lists.close(false);
            return;
        };
        lists.keys.put(key.bytes);
        lists.kinds.put(&[value.kind]);
        lists.values.put(value.bytes);
    }
    lists.close(true);
}

fn has_text_name(header: &UserHeader<'_>) -> bool {
    str::from_utf8(header.key.bytes).is_ok()
}
