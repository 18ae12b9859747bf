//! Connections of the real client, as an application would open them.

use std::sync::Arc;

use iggy::prelude::{AutoLogin, Client, Credentials, TcpClient, TcpClientConfig};

use crate::Outcome;

/// The root user of the nodes that benches and tests start (`tests/support/raw.py`).
const USERNAME: &str = "iggy";
const PASSWORD: &str = "iggy-secret";

/// A client that is logged in. With `nodelay` small requests leave at once; without it the client is as its defaults make
/// it, and Nagle's algorithm holds the body of a request back until its header is acknowledged.
pub(crate) async fn connect(address: &str, nodelay: bool) -> Outcome<TcpClient> {
    let config = TcpClientConfig {
        server_address: address.to_owned(),
        auto_login: AutoLogin::Enabled(Credentials::UsernamePassword(USERNAME.into(), PASSWORD.into())),
        nodelay,
        ..TcpClientConfig::default()
    };
    let client = TcpClient::create(Arc::new(config))?;
    Client::connect(&client).await?;
    Ok(client)
}
