//! Figures of the host and the process, which Python samples with `psutil`.

use ng_wire::primitive::{Malformed, Reader};

/// One sample. All fields are zero or empty until the first sample arrives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFigures {
    /// Percent of one CPU that this process used since the last sample.
    pub cpu_usage: f32,
    /// Percent of all CPUs in use.
    pub total_cpu_usage: f32,
    /// Resident bytes of this process.
    pub memory_usage: u64,
    /// Bytes of memory of the machine.
    pub total_memory: u64,
    /// Bytes of memory available without swapping.
    pub available_memory: u64,
    /// Bytes this process read from disk.
    pub read_bytes: u64,
    /// Bytes this process wrote to disk.
    pub written_bytes: u64,
    /// Threads of this process.
    pub threads_count: u32,
    /// Free bytes on the data disk.
    pub free_disk_space: u64,
    /// Size of the data disk in bytes.
    pub total_disk_space: u64,
    /// Name of the machine.
    pub hostname: String,
    /// Name of the operating system.
    pub os_name: String,
    /// Version of the operating system.
    pub os_version: String,
    /// Version of the kernel.
    pub kernel_version: String,
}

impl HostFigures {
    /// Decodes the body of a `HOST_FIGURES` record: the fields in declaration order, floats as their bits.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let figures = Self {
            cpu_usage: f32::from_bits(reader.u32()?),
            total_cpu_usage: f32::from_bits(reader.u32()?),
            memory_usage: reader.u64()?,
            total_memory: reader.u64()?,
            available_memory: reader.u64()?,
            read_bytes: reader.u64()?,
            written_bytes: reader.u64()?,
            threads_count: reader.u32()?,
            free_disk_space: reader.u64()?,
            total_disk_space: reader.u64()?,
            hostname: reader.str32()?.to_owned(),
            os_name: reader.str32()?.to_owned(),
            os_version: reader.str32()?.to_owned(),
            kernel_version: reader.str32()?.to_owned(),
        };
        reader.finish()?;
        Ok(figures)
    }
}
