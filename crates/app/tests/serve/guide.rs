//! The page that shows the service in five steps, typed as it stands.

use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/guide/service.md");

/// Ends what the page leaves running, whatever became of it.
const END: &str = "trap 'kill $(jobs -p)' EXIT\n";

#[test]
fn the_five_steps_work_as_they_stand() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("curl") || !has("jq") {
        // Whoever has none of them cannot type the page either.
        return;
    }
    let steps: Vec<&str> = PAGE.split("```sh\n").skip(1).take(5).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(steps.len(), 5, "the page has five steps");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let script = format!("set -e\n{END}{}", steps.concat()).replace("127.0.0.1:8080", &free);
    let folder = tempfile::tempdir().unwrap();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_writkeeper"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let typed =
        Command::new("bash").args(["-c", &script]).current_dir(folder.path()).env("PATH", path).output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&typed.stdout), String::from_utf8_lossy(&typed.stderr));
    assert!(typed.status.success(), "{said}\n{wrong}");
    assert!(said.contains("\"verdict\":\"ACCEPT\"") && said.contains("the parcel was late"), "{said}\n{wrong}");
}
