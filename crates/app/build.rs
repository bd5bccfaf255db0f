//! With musl on x86-64 the binary brings its own copying and comparing of memory: see `memory/memory.c`.

fn main() {
    const SOURCE: &str = "memory/memory.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_ENV", "musl") || !is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        return;
    }
    cc::Build::new()
        .file(SOURCE)
        .opt_level(2)
        // A compiler that knows what these functions do would build them out of themselves.
        .flag("-fno-builtin")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .cargo_metadata(false)
        .compile("writkeeper_memory");
    let folder = std::env::var("OUT_DIR").unwrap_or_default();
    println!("cargo::rustc-link-search=native={folder}");
    // The whole of it, so that it is found before the C library's.
    println!("cargo::rustc-link-lib=static:+whole-archive=writkeeper_memory");
}
