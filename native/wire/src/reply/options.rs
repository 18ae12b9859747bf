//! The catalogue of options.

use crate::primitive::{Name, put_bytes32, put_count, put_name8, put_str32, put_u8};
use crate::request::OptionScope;
use crate::table::topic_option::{DefaultValue, TOPIC_OPTIONS, TopicOption};

/// Appends the options of a scope. Streams and users have none.
pub fn put_options(into: &mut Vec<u8>, scope: OptionScope) {
    let options = match scope {
        OptionScope::Topic => TOPIC_OPTIONS,
        OptionScope::Stream | OptionScope::User => &[],
    };
    put_count(into, options.len());
    for option in options {
        put_option(into, option);
    }
}

fn put_option(into: &mut Vec<u8>, option: &TopicOption) {
    put_name8(into, Name::new(option.key).expect("the key of every option in the table is a name"));
    put_u8(into, option.default.kind().code());
    match option.default {
        DefaultValue::Text(text) => put_bytes32(into, text.as_bytes()),
        DefaultValue::Bool(flag) => put_bytes32(into, &[u8::from(flag)]),
        DefaultValue::U32(number) => put_bytes32(into, &number.to_le_bytes()),
        DefaultValue::U64(number) => put_bytes32(into, &number.to_le_bytes()),
    }
    put_str32(into, option.sentence);
}
