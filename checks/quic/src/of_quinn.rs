//! A bulk transfer with quinn as its users run it: default settings, one thread, chunks read without a copy.

use crate::usage::Meter;
use crate::worker::{BLOCK, Done, Error, Ready, Sender, Worker};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::{pki_types::CertificateDer, version::TLS13};
use shallop_quic::identity::{AnyServer, Identity, SERVER_NAME};
use std::{sync::Arc, time::Instant};
use tokio::runtime::{Builder, Runtime};

const ALPN: &[u8] = b"bulk";

fn runtime() -> Result<Runtime, Error> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub fn receive(worker: &Worker, ready: impl FnOnce(&Ready) -> Result<(), Error>) -> Result<Done, Error> {
    let identity = Identity::make()?;
    let chain: Vec<CertificateDer<'static>> = identity.chain.clone();
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, identity.key())?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    runtime()?.block_on(async {
        let endpoint = Endpoint::server(config, (worker.address, 0).into())?;
        let port = endpoint.local_addr()?.port();
        ready(&Ready { port, code: String::new() })?;
        let connection = endpoint.accept().await.ok_or("no connection")?.await?;
        let mut stream = connection.accept_uni().await?;
        let mut bytes = 0;
        let mut meter = None;
        while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
            bytes += chunk.bytes.len() as u64;
            if meter.is_none() {
                meter = Some(Meter::start()?);
            }
        }
        let usage = meter.ok_or("nothing has arrived")?.stop()?;
        connection.closed().await;
        Ok(Done { bytes, usage, credits: None })
    })
}

pub fn send(sender: &Sender) -> Result<Done, Error> {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(AnyServer::new())
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    runtime()?.block_on(async {
        let endpoint = Endpoint::client((sender.worker.address, 0).into())?;
        let connection = endpoint.connect_with(config, sender.to, SERVER_NAME)?.await?;
        let mut stream = connection.open_uni().await?;
        let block = vec![0x5A; BLOCK];
        let mut bytes = 0;
        let meter = Meter::start()?;
        let until = Instant::now() + sender.duration();
        while Instant::now() < until {
            stream.write_all(&block).await?;
            bytes += block.len() as u64;
        }
        stream.finish()?;
        stream.stopped().await?;
        let usage = meter.stop()?;
        connection.close(0_u32.into(), b"done");
        endpoint.wait_idle().await;
        Ok(Done { bytes, usage, credits: None })
    })
}
