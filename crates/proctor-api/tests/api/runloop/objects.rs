use std::time::Duration;

use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Answer, Setup, TestServer};

async fn create(server: &TestServer, name: &str, content_type: &str) -> Answer {
    let body = json!({"name": name, "content_type": content_type});
    server.ask(Method::POST, "/v1/objects", body).await
}

async fn put(server: &TestServer, url: &str, bytes: impl Into<reqwest::Body>) -> Answer {
    // No credential but the link.
    Answer::of(server.client.put(url).body(bytes).send().await.unwrap()).await
}

/// An object with its bytes, complete.
async fn uploaded(server: &TestServer, name: &str, bytes: &'static str) -> String {
    let made = create(server, name, "text").await;
    let id = made.text("id");
    let put = put(server, &made.text("upload_url"), bytes).await;
    assert_eq!(put.status, 200);
    let path = format!("/v1/objects/{id}/complete");
    assert_eq!(server.ask(Method::POST, &path, json!({})).await.status, 200);
    id
}

async fn download_url(server: &TestServer, id: &str, query: &str) -> String {
    let path = format!("/v1/objects/{id}/download{query}");
    server.read(&path).await.text("download_url")
}

/// A shape without the port and the signature.
fn hidden(server: &TestServer, answer: &Answer) -> String {
    let shape = answer
        .shape()
        .replace(&server.address.to_string(), "(host)");
    match shape.find("signature=") {
        None => shape,
        Some(place) => {
            let end = shape[place..].find('"').unwrap() + place;
            format!("{}signature=(…){}", &shape[..place], &shape[end..])
        }
    }
}

#[tokio::test]
async fn an_object_is_uploaded_completed_downloaded_and_deleted() {
    let server = TestServer::start().await;
    let body = json!({"name": "notes.txt", "content_type": "text", "metadata": {"for": "test"}, "ttl_ms": 60_000});
    let made = server.ask(Method::POST, "/v1/objects", body).await;
    insta::assert_snapshot!("object_made", hidden(&server, &made));
    let id = made.text("id");
    assert_eq!(
        put(&server, &made.text("upload_url"), "first").await.status,
        200
    );
    assert_eq!(
        put(&server, &made.text("upload_url"), "hello").await.status,
        200
    );
    let complete = format!("/v1/objects/{id}/complete");
    let completed = server.ask(Method::POST, &complete, json!({})).await;
    insta::assert_snapshot!("object_complete", completed.shape());
    let again = server.ask(Method::POST, &complete, json!({})).await;
    assert_eq!((again.status, &again.body), (200, &completed.body));

    let url = download_url(&server, &id, "").await;
    let response = server.client.get(&url).send().await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(header("content-length"), "5");
    assert_eq!(header("content-disposition"), "attachment");
    assert_eq!(response.text().await.unwrap(), "hello");

    let late = put(&server, &made.text("upload_url"), "other").await;
    insta::assert_snapshot!("object_takes_no_more", late.shape());
    let delete = format!("/v1/objects/{id}/delete");
    let gone = server.ask(Method::POST, &delete, json!({})).await;
    insta::assert_snapshot!("object_gone", gone.shape());
    assert_eq!(
        server.ask(Method::POST, &delete, json!({})).await.body,
        gone.body
    );
    assert_eq!(
        server.read(&format!("/v1/objects/{id}")).await.body,
        gone.body
    );
    let refused = Answer::of(server.client.get(&url).send().await.unwrap()).await;
    assert_eq!(refused.status, 400);
    let blobs = server.store.object_content(id_of(&id));
    let digest = proctor_core::canonical::Digest::of_bytes(b"hello");
    assert!(
        blobs.get(&digest).await.unwrap().is_none(),
        "the bytes are gone too"
    );
}

fn id_of(text: &str) -> proctor_core::id::kinds::ObjectId {
    text.parse().unwrap()
}

#[tokio::test]
async fn nothing_and_nothing_uploaded_are_not_the_same() {
    let server = TestServer::start().await;
    let made = create(&server, "empty", "binary").await;
    let id = made.text("id");
    let complete = format!("/v1/objects/{id}/complete");
    let refused = server.ask(Method::POST, &complete, json!({})).await;
    insta::assert_snapshot!("object_nothing_uploaded", refused.shape());
    let download = server.read(&format!("/v1/objects/{id}/download")).await;
    insta::assert_snapshot!("object_not_complete", download.shape());
    assert_eq!(put(&server, &made.text("upload_url"), "").await.status, 200);
    let completed = server.ask(Method::POST, &complete, json!({})).await;
    assert_eq!(completed.body["size_bytes"], json!(0));
    let url = download_url(&server, &id, "").await;
    let bytes = server.client.get(&url).send().await.unwrap().bytes();
    assert_eq!(bytes.await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_link_is_good_for_one_object_one_direction_and_a_while() {
    let server = TestServer::start().await;
    let made = create(&server, "a", "text").await;
    let upload = made.text("upload_url");
    let other = uploaded(&server, "b", "bytes of b").await;
    let url = download_url(&server, &other, "?duration_seconds=10").await;
    let status = async |url: &str| {
        server
            .client
            .get(url)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(status(&url).await, 200);
    assert_eq!(
        status(&upload).await,
        403,
        "an upload link is no download link"
    );
    assert_eq!(status(&url.replace(&other, &made.text("id"))).await, 403);
    assert_eq!(status(&url.replace("expires=", "expires=9")).await, 403);
    assert_eq!(status(url.split('?').next().unwrap()).await, 400);
    let wrong = url.rsplit_once('=').unwrap().0.to_owned() + "=x%00y";
    assert_eq!(status(&wrong).await, 403);
    let stranger = put(&server, &url, "x").await;
    assert_eq!(stranger.status, 403);
    server.clock.advance(Duration::from_secs(10));
    let late = Answer::of(server.client.get(&url).send().await.unwrap()).await;
    insta::assert_snapshot!("object_link_expired", late.shape());
}

#[tokio::test]
async fn an_upload_beyond_the_limit_is_413_and_leaves_nothing() {
    let mut setup = Setup::default();
    setup.api.object_limit = 100_000;
    let server = setup.start().await;
    let made = create(&server, "large", "binary").await;
    let url = made.text("upload_url");
    let announced = put(&server, &url, vec![0; 100_001]).await;
    assert_eq!(announced.status, 413);
    let piece = || Ok::<_, std::io::Error>(Frame::data(Bytes::from(vec![7; 1000])));
    let pieces = StreamBody::new(futures::stream::iter((0..200).map(move |_| piece())));
    let streamed = put(&server, &url, reqwest::Body::wrap(pieces)).await;
    assert_eq!(streamed.status, 413);
    let shown = server
        .read(&format!("/v1/objects/{}", made.text("id")))
        .await;
    assert_eq!(shown.body["state"], json!("UPLOADING"));
    assert!(shown.body.get("size_bytes").is_none());
    // Larger than the limit of other bodies, and not too large for an object.
    assert_eq!(put(&server, &url, vec![1; 100_000]).await.status, 200);
}

#[tokio::test]
async fn an_object_ends_when_its_time_is_over() {
    let server = TestServer::start().await;
    let body = json!({"name": "brief", "content_type": "text", "ttl_ms": 1000});
    let made = server.ask(Method::POST, "/v1/objects", body).await;
    put(&server, &made.text("upload_url"), "x").await;
    assert_eq!(
        server.read("/v1/objects").await.body["total_count"],
        json!(1)
    );
    server.clock.advance(Duration::from_millis(1000));
    let shown = server
        .read(&format!("/v1/objects/{}", made.text("id")))
        .await;
    assert_eq!(shown.body["state"], json!("DELETED"));
    assert_eq!(
        server.read("/v1/objects").await.body["total_count"],
        json!(0)
    );
    let deleted = server.read("/v1/objects?state=DELETED").await;
    assert_eq!(deleted.body["total_count"], json!(1));
    assert_eq!(
        proctor_fleet::objects::sweep(&server.store).await.unwrap(),
        1
    );
    assert_eq!(
        proctor_fleet::objects::sweep(&server.store).await.unwrap(),
        0
    );
}

#[tokio::test]
async fn lists_look_by_name_type_and_state() {
    let server = TestServer::start().await;
    for (name, content_type) in [
        ("Report", "text"),
        ("report-2", "binary"),
        ("data_1", "tgz"),
    ] {
        create(&server, name, content_type).await;
    }
    uploaded(&server, "done", "x").await;
    let names = async |query: &str| -> Vec<String> {
        let page = server.read(&format!("/v1/objects?{query}")).await;
        let objects = page.body["objects"].as_array().unwrap().clone();
        objects
            .iter()
            .map(|object| object["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("name=Report").await, ["Report"]);
    assert_eq!(names("name=REPORT").await, ["report-2", "Report"]);
    assert_eq!(names("name=a_1").await, ["data_1"]);
    assert_eq!(names("search=report").await, ["report-2", "Report"]);
    assert_eq!(names("content_type=tgz").await, ["data_1"]);
    assert_eq!(names("state=READ_ONLY").await, ["done"]);
    assert_eq!(names("state=ERROR").await, Vec::<String>::new());
    let first = server.read("/v1/objects?limit=1").await;
    let id = first.body["objects"][0]["id"].as_str().unwrap();
    assert_eq!(names(&format!("search={id}")).await, ["done"]);
    assert_eq!(first.body["has_more"], json!(true));
    let public = server.read("/v1/objects/list_public").await;
    assert_eq!(
        public.body,
        json!({"objects": [], "has_more": false, "total_count": 0})
    );
}

#[rstest]
#[case("empty", Value::Null)]
#[case("bad_type", json!({"name": "a", "content_type": "zip"}))]
#[case("blank", json!({"name": " ", "content_type": "text", "ttl_ms": 0}))]
#[case("negative_ttl", json!({"name": "a", "content_type": "text", "ttl_ms": -5}))]
#[tokio::test]
async fn a_wrong_object_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/v1/objects", body).await;
    insta::assert_snapshot!(format!("object_{name}"), answer.shape());
}

#[tokio::test]
async fn objects_of_others_are_not_there() {
    let server = TestServer::start().await;
    let id = uploaded(&server, "mine", "secret bytes").await;
    let foreign = server.foreign_key().await;
    for (method, path) in [
        (Method::GET, format!("/v1/objects/{id}")),
        (Method::GET, format!("/v1/objects/{id}/download")),
        (Method::POST, format!("/v1/objects/{id}/complete")),
        (Method::POST, format!("/v1/objects/{id}/delete")),
    ] {
        let request = server.request(method, &path).bearer_auth(&foreign);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
    let list = server.get("/v1/objects").bearer_auth(&foreign);
    let list: Value =
        serde_json::from_str(&list.send().await.unwrap().text().await.unwrap()).unwrap();
    assert_eq!(list["total_count"], json!(0));
}
