//! The field reader against a position it must never leave, driven by a program in the input.

use ng_wire::primitive::{Malformed, Reader};

/// The first half of `bytes` says which fields to read, the second half is what they are read from.
pub fn primitives(bytes: &[u8]) {
    let (program, body) = bytes.split_at(bytes.len() / 2);
    let mut reader = Reader::new(body);
    for step in program {
        let before = reader.remaining();
        let rest = &body[body.len() - before..];
        let outcome = read(&mut reader, *step);
        let after = reader.remaining();
        assert!(after <= before);
        match outcome {
            Ok(value) => assert!(rest[..before - after].ends_with(&value)),
            Err(Malformed::Short { missing }) => assert!(missing > 0),
            Err(Malformed::EmptyName) => assert_eq!(rest[0], 0),
            Err(Malformed::NotUtf8) => assert!(str::from_utf8(&rest[..before - after]).is_err()),
            Err(
                fault @ (Malformed::Trailing { .. }
                | Malformed::Value(_)
                | Malformed::Repeated(_)
                | Malformed::Long { .. }),
            ) => {
                assert_eq!(fault, Malformed::NotUtf8, "a field cannot meet this");
            }
        }
    }
    let extra = reader.remaining();
    assert_eq!(reader.finish(), if extra == 0 { Ok(()) } else { Err(Malformed::Trailing { extra }) });
}

/// Reads one field and returns the bytes of its value.
fn read(reader: &mut Reader<'_>, step: u8) -> Result<Vec<u8>, Malformed> {
    match step % 10 {
        0 => reader.u8().map(|value| vec![value]),
        1 => reader.u16().map(|value| value.to_le_bytes().to_vec()),
        2 => reader.u32().map(|value| value.to_le_bytes().to_vec()),
        3 => reader.u64().map(|value| value.to_le_bytes().to_vec()),
        4 => reader.u128().map(|value| value.to_le_bytes().to_vec()),
        5 => reader.name8().map(|value| value.as_bytes().to_vec()),
        6 => reader.str8().map(|value| value.as_bytes().to_vec()),
        7 => reader.bytes8().map(<[u8]>::to_vec),
        8 => reader.str32().map(|value| value.as_bytes().to_vec()),
        _ => reader.bytes(usize::from(step)).map(<[u8]>::to_vec),
    }
}
