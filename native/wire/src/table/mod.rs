//! Every code, name and row that crosses a boundary: the wire, the C ABI, the metrics endpoint, the log.
//!
//! A table is declared here once. The Python twin is generated from [`describe`]'s sources, and both sides
//! compare [`digest`] when they meet, so that neither can run with the other's yesterday.

pub mod close_reason;
pub mod command;
pub mod error;
pub mod event;
pub mod eviction;
pub mod exit_status;
pub mod frame_drop;
pub mod limit;
pub mod memory_part;
pub mod metric;
pub mod operation;
pub mod outcome;
pub mod permission;
pub mod reconcile;
pub mod record;
pub mod request_class;
pub mod roster;
pub mod row;
pub mod scale;
pub mod segment_codec;
pub mod segment_order;
pub mod setting;
pub mod topic_option;
pub mod transport;

mod description;

pub use description::{describe, digest};

/// Declares a table of codes: an enum whose variants have a code, a name and a sentence, each stated once.
macro_rules! coded {
    (
        $(#[doc = $summary:literal])+
        pub enum $table:ident: $code:ident {
            $( $(#[doc = $sentence:literal])+ $variant:ident = $value:literal, $name:literal; )+
        }
    ) => {
        $(#[doc = $summary])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr($code)]
        pub enum $table {
            $( $(#[doc = $sentence])+ $variant = $value, )+
        }

        impl $table {
            /// Every row, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The names of [`Self::ALL`], in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The number of this row.
            #[must_use]
            pub const fn code(self) -> $code {
                self as $code
            }

            /// The row of a number.
            #[must_use]
            pub const fn from_code(code: $code) -> Option<Self> {
                match code {
                    $( $value => Some(Self::$variant), )+
                    _ => None,
                }
            }

            /// The name of the row.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )+
                }
            }

            /// What the row means, in a sentence.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self {
                    $( Self::$variant => concat!($($sentence),+).trim_ascii(), )+
                }
            }
        }
    };
}

pub(crate) use coded;
