#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assert_eq!(moat_proxy::fuzz::greeting(data), Ok(())));
