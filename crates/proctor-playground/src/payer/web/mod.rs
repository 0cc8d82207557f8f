//! x
use super::*;
pub(super) const KIND: &str = "portal_page";
pub(super) fn handle(
    _: &PayerDesk,
    request: &Request,
    _: &[&str],
    _: &Around<'_>,
) -> handled::Handling {
    Err(Box::new(nothing_here(request)))
}
