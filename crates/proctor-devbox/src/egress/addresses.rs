//! Which addresses lead to the public network, and which to this machine or its neighbours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whether an address belongs to the public network. Everything that is reserved, local or private does not.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match (a, b, c) {
        // "This" network, loopback, private, and everything from multicast on.
        (0 | 10 | 127 | 224.., _, _) => true,
        // Shared by providers and their customers; some clouds keep their metadata there.
        (100, 64..=127, _) => true,
        // Link-local, where most clouds keep their metadata.
        (169, 254, _) => true,
        (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, examples, relays, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) => true,
        (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded(address) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // Only this eighth of all addresses is given out; of it, 2001:0::/23 is for protocols and 2001:db8::/32 for examples.
    first & 0xe000 == 0x2000 && !(first == 0x2001 && (second < 0x0200 || second == 0x0db8))
}

/// The IPv4 address that a translator or tunnel would take out of this one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

/// Whether the address is one of this machine's own. Nothing is sent to find out: a machine speaks to itself from the very address
/// that it speaks to.
pub fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind(SocketAddr::new(any, 0)).and_then(|socket| {
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_known() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
            "4000::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn this_machine_knows_itself() {
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("192.0.2.1".parse().unwrap()));
    }
}
