//! What the kernel knows about a running proxy.

use super::moat::Moat;

impl Moat {
    /// The memory that it holds, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = self.kernel("status");
        let mut lines = status.lines();
        let size = lines.find_map(|line| line.strip_prefix("VmRSS:"));
        let number = size.unwrap().split_whitespace().next();
        number.unwrap().parse().unwrap()
    }

    /// Processor time used so far, in hundredths of a second.
    pub(crate) fn processor_time(&self) -> u64 {
        let stat = self.kernel("stat");
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let words: Vec<&str> = rest.split_whitespace().collect();
        words[11].parse::<u64>().unwrap() + words[12].parse::<u64>().unwrap()
    }

    /// How many descriptors are open.
    pub(crate) fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.pid().as_raw_nonzero());
        std::fs::read_dir(folder).unwrap().count()
    }

    fn kernel(&self, file: &str) -> String {
        let path = format!("/proc/{}/{file}", self.pid().as_raw_nonzero());
        std::fs::read_to_string(path).unwrap()
    }
}
