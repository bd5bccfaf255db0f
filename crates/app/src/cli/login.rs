//! Keys for servers.

use clap::Args;

/// `writkeeper login`
#[derive(Args, Debug)]
#[command(after_help = "\
The key is asked for on the terminal, or read from standard input, and never typed as an argument. The server says whose it \
is before it is kept, in a file that only you can read: $XDG_CONFIG_HOME/writkeeper/logins, or ~/.config/writkeeper/logins. \
WRITKEEPER_KEY takes its place wherever it is set.")]
pub struct LoginArgs {
    /// The server
    #[arg(long, value_name = "URL", env = "WRITKEEPER_SERVER", hide_env_values = true)]
    pub server: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `writkeeper logout`
#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// The server
    #[arg(long, value_name = "URL", env = "WRITKEEPER_SERVER", hide_env_values = true)]
    pub server: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
