//! Which CPUs the process may use, and pinning a thread to one.
//!
//! Usable is what the scheduler allows, cut by the CPU quota of the control groups the process is in: a
//! container with a quota of two CPUs on a machine of sixty-four must not start sixty-three shards.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::IoError;

/// The CPUs the calling thread may run on, ascending.
pub fn allowed_cpus() -> Result<Vec<usize>, IoError> {
    let set = sched_getaffinity(None).map_err(|errno| IoError::from_errno("read the CPU affinity", errno))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// The allowed CPUs, only as many of them as the CPU quota pays for; at least one.
pub fn usable_cpus() -> Result<Vec<usize>, IoError> {
    let mut cpus = allowed_cpus()?;
    if let Some(quota) = quota_cpus() {
        cpus.truncate(quota);
    }
    Ok(cpus)
}

/// Binds the calling thread to one CPU.
pub fn pin_current_thread(cpu: usize) -> Result<(), IoError> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(IoError::invalid("pin a thread"));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| IoError::from_errno("pin a thread", errno))
}

/// How many CPUs the strictest quota on the way to the root of the hierarchy pays for, rounded up; `None`
/// without a quota.
#[must_use]
pub fn quota_cpus() -> Option<usize> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    hierarchies(&membership, &mounts).iter().flat_map(CpuHierarchy::quotas).min()
}

/// A mounted control group hierarchy that accounts CPU time, and where in it the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CpuHierarchy {
    version: Version,
    mount: PathBuf,
    own: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl CpuHierarchy {
    /// The quotas from the process's own group up to the mount point, as far as they are set and readable.
    fn quotas(&self) -> impl Iterator<Item = usize> + '_ {
        self.own
            .ancestors()
            .take_while(|group| group.starts_with(&self.mount))
            .filter_map(|group| self.quota(group))
    }

    fn quota(&self, group: &Path) -> Option<usize> {
        match self.version {
            Version::Two => parse_v2_quota(&fs::read_to_string(group.join("cpu.max")).ok()?),
            Version::One => {
                let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
                let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
                cpus_for(&quota, &period)
            }
        }
    }
}

/// `cpu.max` of version 2: "max 100000" or "150000 100000".
fn parse_v2_quota(text: &str) -> Option<usize> {
    let (quota, period) = text.trim().split_once(' ')?;
    cpus_for(quota, period)
}

/// Quota over period, rounded up. No quota is written as "max" or a negative number, neither of which parses
/// here.
fn cpus_for(quota: &str, period: &str) -> Option<usize> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok().filter(|period| *period > 0)?;
    usize::try_from(quota.div_ceil(period)).ok().map(|cpus| cpus.max(1))
}

/// Finds the hierarchies in `/proc/self/mountinfo` and the process's group in each from `/proc/self/cgroup`.
fn hierarchies(membership: &str, mounts: &str) -> Vec<CpuHierarchy> {
    mounts.lines().filter_map(|line| hierarchy(membership, line)).collect()
}

/// One mountinfo line: `id parent major:minor root mount-point options [tags] - type source super-options`.
fn hierarchy(membership: &str, line: &str) -> Option<CpuHierarchy> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => Version::Two,
        "cgroup" if kind.nth(1)?.split(',').any(|option| option == "cpu") => Version::One,
        _ => return None,
    };
    let group = Path::new(own_group(membership, version)?);
    let mount = PathBuf::from(mount);
    // Without a group namespace the path counts from the machine's root while the mount shows only a part of
    // it.
    let inside = group.strip_prefix(root).unwrap_or(Path::new(""));
    Some(CpuHierarchy { version, own: mount.join(inside), mount })
}

/// The process's group: in the line "0::path" for version 2, in "id:...,cpu,...:path" for version 1.
fn own_group(membership: &str, version: Version) -> Option<&str> {
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let found = match version {
            Version::Two => id == "0" && controllers.is_empty(),
            Version::One => controllers.split(',').any(|controller| controller == "cpu"),
        };
        found.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str =
        "35 30 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn a_quota_is_rounded_up_to_whole_cpus() {
        assert_eq!(parse_v2_quota("150000 100000\n"), Some(2));
        assert_eq!(parse_v2_quota("200000 100000\n"), Some(2));
        assert_eq!(parse_v2_quota("1000 100000\n"), Some(1));
        assert_eq!(cpus_for("0", "100000"), Some(1));
    }

    #[test]
    fn no_quota_cuts_nothing() {
        assert_eq!(parse_v2_quota("max 100000\n"), None);
        assert_eq!(cpus_for("-1\n", "100000\n"), None);
        assert_eq!(cpus_for("100000", "0"), None);
        assert_eq!(parse_v2_quota(""), None);
    }

    #[test]
    fn the_own_group_of_version_2_is_found_under_the_mount() {
        let found = hierarchies("0::/system.slice/server-ng.service\n", V2_MOUNT);
        let own = PathBuf::from("/sys/fs/cgroup/system.slice/server-ng.service");
        assert_eq!(found, [CpuHierarchy { version: Version::Two, mount: "/sys/fs/cgroup".into(), own }]);
    }

    #[test]
    fn the_own_group_of_version_1_counts_from_the_root_of_the_mount() {
        let mount = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct");
        for (path, own) in [("/docker/abc", mount.clone()), ("/docker/abc/inner", mount.join("inner"))] {
            let membership = format!("5:memory:/other\n4:cpu,cpuacct:{path}\n");
            let expected = CpuHierarchy { version: Version::One, mount: mount.clone(), own };
            assert_eq!(hierarchies(&membership, V1_MOUNT), [expected]);
        }
    }

    #[test]
    fn a_group_outside_the_mount_is_read_at_the_mount_itself() {
        let found = hierarchies("4:cpu:/elsewhere\n", V1_MOUNT);
        assert_eq!(found[0].own, PathBuf::from("/sys/fs/cgroup/cpu,cpuacct"));
    }

    #[test]
    fn other_mounts_and_controllers_are_not_taken_for_cpu() {
        let cpuset = "36 30 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        let disk = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n";
        assert!(hierarchies("3:cpuset:/\n0::/\n", &[cpuset, disk].concat()).is_empty());
        assert!(hierarchies("nonsense", "nonsense").is_empty());
    }

    #[test]
    fn this_machine_has_at_least_one_usable_cpu_and_all_are_allowed() {
        let allowed = allowed_cpus().expect("the mask is readable");
        let usable = usable_cpus().expect("the mask is readable");
        assert!(!usable.is_empty());
        assert!(usable.iter().all(|cpu| allowed.contains(cpu)));
    }
}
