//! Numbers that `codec_*` functions and their callers share.

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
        /// The time of the append.
        Timestamp = 8, "timestamp";
        /// The time at which the producer created it.
        Origin = 16, "origin";
        /// Its id, 16 bytes, most significant first.
        Id = 32, "id";
        /// The user headers as a list; null if they cannot be decoded.
        Headers = 64, "headers";
        /// Whether the message deletes its key: header `tombstone` is true, or the payload is empty.
        Tombstone = 128, "tombstone";
        /// The user headers, undecoded.
        UserHeaders = 256, "user_headers";
    }
}

coded! {
    /// A buffer of an arena; those of unselected columns are empty.
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
        /// Validity of the keys, one bit each.
        KeyValid = 7, "key_valid";
        /// Ends of the keys.
        KeyEnds = 8, "key_ends";
        /// Keys.
        Key = 9, "key";
        /// Tombstones, one bit per message.
        Tombstone = 10, "tombstone";
        /// Ends of the undecoded user headers.
        UserHeadersEnds = 11, "user_headers_ends";
        /// Undecoded user headers.
        UserHeaders = 12, "user_headers";
        /// Validity of the lists of user headers, one bit each.
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
    /// The reason why a call that reads batches ended.
    pub enum Stop: u8 {
        /// At the end.
        End = 0, "end";
        /// More bytes are needed.
        More = 1, "more";
        /// No room is left for a message, or the table must grow.
        Full = 2, "full";
        /// At damage, which a sentence explains.
        Damaged = 3, "damaged";
    }
}

coded! {
    /// The reason why a comparison of slices with the whole segment ended.
    pub enum Halt: u8 {
        /// All of them were found.
        End = 0, "end";
        /// More bytes of the slices are needed.
        Slices = 1, "slices";
        /// More bytes of the whole segment are needed.
        Whole = 2, "whole";
        /// The whole segment is at its end.
        WholeEnded = 3, "whole_ended";
        /// A batch is damaged, or not in the whole segment; a sentence names it.
        Foreign = 4, "foreign";
    }
}
