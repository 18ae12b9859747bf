//! What `codec_*` calls and their callers say to each other by number.

use super::coded;

coded! {
    /// A column of messages, by its bit.
    pub enum Column: u16 {
        /// The key, by the rule of the selection; null without one.
        Key = 1, "key";
        /// The payload.
        Value = 2, "value";
        /// The offset.
        Offset = 4, "offset";
        /// When the message was appended.
        Timestamp = 8, "timestamp";
        /// When its producer made it.
        Origin = 16, "origin";
        /// Its id, 16 bytes, most significant first.
        Id = 32, "id";
        /// The user headers as a list; null where the bytes are none.
        Headers = 64, "headers";
        /// Whether the message deletes its key: header `tombstone` is true, or the payload is empty.
        Tombstone = 128, "tombstone";
        /// The user headers as they came.
        UserHeaders = 256, "user_headers";
    }
}

coded! {
    /// A buffer of an arena; those of columns that are not wanted are empty.
    pub enum Place: u8 {
        /// Offsets.
        Offset = 0, "offset";
        /// Times of the append.
        Timestamp = 1, "timestamp";
        /// Times of the producer.
        Origin = 2, "origin";
        /// Ends of the ids.
        IdEnds = 3, "id_ends";
        /// Ids.
        Id = 4, "id";
        /// Ends of the payloads.
        ValueEnds = 5, "value_ends";
        /// Payloads.
        Value = 6, "value";
        /// Which keys there are, a bit each.
        KeyValid = 7, "key_valid";
        /// Ends of the keys.
        KeyEnds = 8, "key_ends";
        /// Keys.
        Key = 9, "key";
        /// Which messages delete their key, a bit each.
        Tombstone = 10, "tombstone";
        /// Ends of the user headers as they came.
        UserHeadersEnds = 11, "user_headers_ends";
        /// User headers as they came.
        UserHeaders = 12, "user_headers";
        /// Which lists of user headers there are, a bit each.
        HeadersValid = 13, "headers_valid";
        /// Ends of the lists, in headers.
        HeadersEnds = 14, "headers_ends";
        /// Ends of the names of headers.
        HeaderKeyEnds = 15, "header_key_ends";
        /// Names of headers.
        HeaderKey = 16, "header_key";
        /// Kinds of headers.
        HeaderKind = 17, "header_kind";
        /// Ends of the values of headers.
        HeaderValueEnds = 18, "header_value_ends";
        /// Values of headers.
        HeaderValue = 19, "header_value";
    }
}

coded! {
    /// Why a call that reads batches ended.
    pub enum Stop: u8 {
        /// At the end.
        End = 0, "end";
        /// More bytes are needed.
        More = 1, "more";
        /// No room for a message is left, or a larger table is needed.
        Full = 2, "full";
        /// At damage, which a sentence explains.
        Damaged = 3, "damaged";
    }
}

coded! {
    /// Why a comparison of slices with the whole segment ended.
    pub enum Halt: u8 {
        /// All of them were found.
        End = 0, "end";
        /// More bytes of the slices are needed.
        Slices = 1, "slices";
        /// More bytes of the whole segment are needed.
        Whole = 2, "whole";
        /// The whole segment is at its end.
        WholeEnded = 3, "whole_ended";
        /// Something is damaged, or not in the whole segment; a sentence says what.
        Foreign = 4, "foreign";
    }
}
