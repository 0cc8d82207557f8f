use crate::support::TestServer;

#[tokio::test]
async fn the_account_is_the_organization_of_the_key() {
    let server = TestServer::start().await;
    insta::assert_snapshot!("account", server.read("/v1/accounts/me").await.shape());
}
