//! Certificate, key and the protocols offered over TLS.

use std::{path::PathBuf, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio_rustls::TlsAcceptor;

/// Where the certificate chain and its private key are, both as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub certificates: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is missing or unreadable.
    #[error("cannot read a TLS file")]
    Read(#[from] std::io::Error),
    /// A file holds no usable PEM.
    #[error("{path} is not PEM of the right kind: {reason}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key do not work together.
    #[error("the certificate and the key cannot be used")]
    Unusable(#[from] rustls::Error),
}

pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let pem_error = |path: &PathBuf, reason: String| TlsError::Pem {
        path: path.clone(),
        reason,
    };
    let certificates = CertificateDer::pem_slice_iter(&fs_err::read(&files.certificates)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| pem_error(&files.certificates, error.to_string()))?;
    if certificates.is_empty() {
        return Err(pem_error(
            &files.certificates,
            "it holds no certificate".to_owned(),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(&fs_err::read(&files.key)?)
        .map_err(|error| pem_error(&files.key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
